import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

export interface ProcessUsage {
  readonly residentMb: number;
  /** The highest since the process began. */
  readonly peakResidentMb: number;
}

/** Of a running process, from /proc. Throws elsewhere than on Linux. */
export function readUsage(pid: number): ProcessUsage {
  if (process.platform !== 'linux')
    throw new Error('the memory of another process is read from /proc, which needs Linux');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return { residentMb: megabytes('VmRSS'), peakResidentMb: megabytes('VmHWM') };
}

/** Shares of the time that was watched. The process's own are undefined elsewhere than on Linux. */
export interface CpuUsage {
  /** Of one core, by all threads of the process. */
  readonly used: number | undefined;
  /** In which the main thread was ready to run and did not get a core, for others had them. */
  readonly waited: number | undefined;
  /** Of all cores, by everybody. */
  readonly machine: number;
}

/** Does the work and tells how the process fared meanwhile. */
export async function watchCpu<T>(pid: number, work: () => Promise<T>): Promise<{ result: T; usage: CpuUsage }> {
  const [machineBefore, before, startedAt] = [sumCoreTimes(), readProcessTimes(pid), performance.now()];
  const result = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const [machineAfter, after] = [sumCoreTimes(), readProcessTimes(pid)];
  const share = (name: 'usedSeconds' | 'waitedSeconds') =>
    before === undefined || after === undefined ? undefined : (after[name] - before[name]) / seconds;
  const machine = shareBusy(machineBefore, machineAfter);
  return { result, usage: { used: share('usedSeconds'), waited: share('waitedSeconds'), machine } };
}

/** Share of all cores that was busy during the time. */
export async function sampleMachine(forMs: number): Promise<number> {
  const before = sumCoreTimes();
  await new Promise((resolve) => setTimeout(resolve, forMs));
  return shareBusy(before, sumCoreTimes());
}

const TICKS_PER_SECOND = 100;

function readProcessTimes(pid: number): { usedSeconds: number; waitedSeconds: number } | undefined {
  if (process.platform !== 'linux') return undefined;
  // Fields after the command's closing parenthesis, which may itself hold spaces: 14 and 15 are utime and stime.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  // Of the main thread: nanoseconds that it ran, nanoseconds that it waited to run.
  const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return {
    usedSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    waitedSeconds: Number(waited) / 1e9,
  };
}

interface CoreTimes {
  readonly idle: number;
  readonly total: number;
}

function sumCoreTimes(): CoreTimes {
  const times = cpus().map((cpu) => cpu.times);
  const idle = times.reduce((sum, each) => sum + each.idle, 0);
  const busy = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0);
  return { idle, total: idle + busy };
}

function shareBusy(before: CoreTimes, after: CoreTimes): number {
  return 1 - (after.idle - before.idle) / (after.total - before.total);
}

/** Of one thread, since it began. */
export interface ThreadTimes {
  /** As the system has it: the main thread's is the process's. */
  readonly name: string;
  readonly usedMs: number;
  /** How often it had nothing to do, slept, and was woken. */
  readonly wakeUps: number;
}

/** The threads of a process by their ids, from /proc; the main thread's is the process's. Linux only. */
export function readThreads(pid: number): Map<number, ThreadTimes> {
  const threads = new Map<number, ThreadTimes>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${id}`;
    try {
      const [usedNs] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ');
      const status = readFileSync(`${folder}/status`, 'utf8');
      threads.set(Number(id), {
        name: /^Name:\t(.*)$/m.exec(status)?.[1] ?? '',
        usedMs: Number(usedNs) / 1e6,
        wakeUps: Number(/^voluntary_ctxt_switches:\t(\d+)$/m.exec(status)?.[1]),
      });
    } catch {
      // It has ended meanwhile.
    }
  }
  return threads;
}

/** What each thread did between the two. One that has begun meanwhile counts whole; one that has ended, not at all. */
export function subtractThreads(
  after: ReadonlyMap<number, ThreadTimes>,
  before: ReadonlyMap<number, ThreadTimes>,
): Map<number, ThreadTimes> {
  return new Map(
    [...after].map(([id, { name, usedMs, wakeUps }]) => {
      const earlier = before.get(id) ?? { usedMs: 0, wakeUps: 0 };
      return [id, { name, usedMs: usedMs - earlier.usedMs, wakeUps: wakeUps - earlier.wakeUps }];
    }),
  );
}
