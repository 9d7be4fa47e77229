/**
 * Asks a server for its health every 20 ms over one connection and keeps the longest times between two answers. A process of
 * its own, so that its clock does not depend on what the test does.
 *
 * What the machine does to a server is not the server's doing. From each gap is taken
 * - how long the server's main thread was ready to run and had no processor (`schedstat`; Linux alone tells), and
 * - how long this process was in that state, so that it asked late or took the answer late; or what a server that does
 *   nothing was late by at the same time, where that is longer.
 * On a busy machine no more counts than the main thread ran, less a part of what it waited: the work of all others that came
 * meanwhile is done before the answer, each piece of it short.
 * What is left is how long the server's own event loop held the answer up.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { fileURLToPath } from 'node:url';

export interface Gap {
  /** Milliseconds since the probe started. */
  readonly atMs: number;
  /** From one answer to the next. */
  readonly gapMs: number;
  /** The server's main thread waited for a processor. */
  readonly queuedMs: number;
  /** It ran. */
  readonly ranMs: number;
  /** The longest gap of the control server that overlaps. */
  readonly controlMs: number;
  /** What the server itself is to blame for. */
  readonly ownMs: number;
}

export interface ProbeReport {
  readonly answers: number;
  /** Answers that were no 200, and connections that broke. */
  readonly failures: readonly string[];
  /** The longest, the longest first by `ownMs`. */
  readonly gaps: readonly Gap[];
}

export interface ProbeOptions {
  readonly url: string;
  readonly pid: number;
  /** Longer gaps of the server's own are told at once, beside the report. Default: none is. */
  readonly tellOverMs?: number;
}

export type ProbeMessage =
  | { readonly kind: 'started' }
  | { readonly kind: 'gap'; readonly gap: Gap }
  | { readonly kind: 'report'; readonly report: ProbeReport };

const INTERVAL_MS = 20;
/** Of the time that the main thread waited for a processor: what it then does at once of the work that came meanwhile. */
const MADE_UP_SHARE = 0.1;
const KEPT = 10;
/** Answers of the control server that may still count for a gap of the server. */
const CONTROL_KEPT = 4_096;
const FAILURES_KEPT = 20;

interface Answered {
  readonly fromMs: number;
  readonly toMs: number;
}

async function probe({ url, pid, tellOverMs = Number.POSITIVE_INFINITY }: ProbeOptions): Promise<void> {
  const control = fork(fileURLToPath(new URL('control-server.ts', import.meta.url)), { stdio: 'inherit' });
  const [{ url: controlUrl }] = await once(control, 'message');
  const startedMs = performance.now();
  const controlled: Answered[] = [];
  const failures: string[] = [];
  let gaps: Gap[] = [];
  let answers = 0;
  let stopped = false;
  let before = readSchedule(pid);
  let pressureBeforeMs = readPressureMs();
  let ownBeforeMs = readSchedule(process.pid).queuedMs;

  const judge = ({ fromMs, toMs }: Answered): void => {
    answers += 1;
    const schedule = readSchedule(pid);
    const queuedMs = schedule.queuedMs - before.queuedMs;
    const ranMs = schedule.ranMs - before.ranMs;
    before = schedule;
    const ownQueuedMs = readSchedule(process.pid).queuedMs;
    const lateMs = ownQueuedMs - ownBeforeMs;
    ownBeforeMs = ownQueuedMs;
    const gapMs = toMs - fromMs;
    if (gapMs < INTERVAL_MS * 2) return;
    const overlapping = controlled.filter((other) => other.toMs > fromMs && other.fromMs < toMs);
    const controlMs = Math.max(0, ...overlapping.map((other) => other.toMs - other.fromMs));
    const pressureMs = readPressureMs();
    const scarceMs = pressureMs - pressureBeforeMs;
    pressureBeforeMs = pressureMs;
    const machineMs = queuedMs + Math.max(lateMs, controlMs - INTERVAL_MS);
    // Where others want the processors, a thread that sleeps may wait for a thread or a child of its own that has none.
    const isBusy = Math.max(machineMs, scarceMs) > INTERVAL_MS;
    const ownMs = isBusy ? Math.min(ranMs, gapMs - machineMs) - queuedMs * MADE_UP_SHARE : gapMs - machineMs;
    const gap: Gap = { atMs: fromMs - startedMs, gapMs, queuedMs, ranMs, controlMs, ownMs };
    gaps.push(gap);
    if (ownMs > tellOverMs) tell({ kind: 'gap', gap });
    if (gaps.length > KEPT * 10) gaps = longest(gaps);
  };
  const keep = (answered: Answered): void => {
    controlled.push(answered);
    if (controlled.length > CONTROL_KEPT) controlled.splice(0, CONTROL_KEPT / 2);
  };
  const fail = (problem: string): void => {
    if (!stopped && failures.length < FAILURES_KEPT) failures.push(problem);
  };
  const loops = [
    askForEver(`${url}/healthz`, judge, fail, () => stopped),
    askForEver(controlUrl, keep, fail, () => stopped),
  ];
  tell({ kind: 'started' });
  await once(process, 'message');
  stopped = true;
  await Promise.all(loops);
  const report: ProbeReport = { answers, failures, gaps: longest(gaps) };
  control.disconnect();
  tell({ kind: 'report', report }, () => process.disconnect());
}

function tell(message: ProbeMessage, told?: () => void): void {
  process.send?.(message, undefined, undefined, told);
}

function longest(gaps: readonly Gap[]): Gap[] {
  return gaps.toSorted((a, b) => b.ownMs - a.ownMs).slice(0, KEPT);
}

/** One request after the other, each 20 ms after the last began, or at once where that took longer. */
async function askForEver(
  url: string,
  answered: (answer: Answered) => void,
  failed: (problem: string) => void,
  stopped: () => boolean,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let fromMs: number | undefined;
  while (!stopped()) {
    const askedMs = performance.now();
    try {
      const status = await ask(url, agent);
      if (status !== 200) failed(`${url} answered ${status}`);
    } catch (error) {
      failed(`${url}: ${error instanceof Error ? error.message : String(error)}`);
    }
    const toMs = performance.now();
    if (fromMs !== undefined) answered({ fromMs, toMs });
    fromMs = toMs;
    const restMs = INTERVAL_MS - (toMs - askedMs);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, restMs)));
  }
  agent.destroy();
}

function ask(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
      response.once('error', reject);
    });
    request.once('error', reject);
  });
}

/** Of the main thread, since it began. */
function readSchedule(pid: number): { readonly ranMs: number; readonly queuedMs: number } {
  try {
    const [ran = 0, queued = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ranMs: ran / 1_000_000, queuedMs: queued / 1_000_000 };
  } catch {
    // No Linux, or the process has ended: the control server alone counts then.
    return { ranMs: 0, queuedMs: 0 };
  }
}

/** How long something on the machine waited for a processor, since its start. */
function readPressureMs(): number {
  try {
    return Number(/^some .* total=(\d+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1]) / 1_000;
  } catch {
    // A kernel without pressure stall information.
    return 0;
  }
}

if (process.send !== undefined) {
  process.once('disconnect', () => process.exit());
  const [options] = await once(process, 'message');
  await probe(options);
}
