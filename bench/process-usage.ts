import { readFileSync } from 'node:fs';

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

const TICKS_PER_SECOND = 100;

/** The share of one core that the process used while the work was done; undefined elsewhere than on Linux. */
export async function watchCpu<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpu: number | undefined }> {
  const before = readCpuSeconds(pid);
  const startedAt = performance.now();
  const result = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const after = readCpuSeconds(pid);
  return { result, cpu: before === undefined || after === undefined ? undefined : (after - before) / seconds };
}

/** User and system time of all its threads. */
function readCpuSeconds(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  // Fields after the command's closing parenthesis, which may itself hold spaces: 14 and 15 are utime and stime.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
