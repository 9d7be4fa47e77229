/**
 * Asks a server for its health every 20 ms over one connection and keeps the longest times between two answers. A process of
 * its own, so that its clock does not depend on what the test does.
 *
 * What the machine does to a server is not the server's doing. From each gap is taken
 * - the time that the server's main thread was ready to run and had no processor (`schedstat`; Linux alone tells), or
 * - the gap of a server that does nothing, over the same time, where that is longer.
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
}

const INTERVAL_MS = 20;
const KEPT = 10;
/** Answers of the control server that may still count for a gap of the server. */
const CONTROL_KEPT = 4_096;
const FAILURES_KEPT = 20;

interface Answered {
  readonly fromMs: number;
  readonly toMs: number;
}

async function probe({ url, pid }: ProbeOptions): Promise<void> {
  const control = fork(fileURLToPath(new URL('control-server.ts', import.meta.url)), { stdio: 'inherit' });
  const [{ url: controlUrl }] = await once(control, 'message');
  const startedMs = performance.now();
  const controlled: Answered[] = [];
  const failures: string[] = [];
  let gaps: Gap[] = [];
  let answers = 0;
  let stopped = false;
  let queuedBefore = readQueuedMs(pid);

  const judge = ({ fromMs, toMs }: Answered): void => {
    answers += 1;
    const queued = readQueuedMs(pid);
    const queuedMs = queued - queuedBefore;
    queuedBefore = queued;
    const gapMs = toMs - fromMs;
    if (gapMs < INTERVAL_MS * 2) return;
    const overlapping = controlled.filter((other) => other.toMs > fromMs && other.fromMs < toMs);
    const controlMs = Math.max(0, ...overlapping.map((other) => other.toMs - other.fromMs));
    const ownMs = gapMs - Math.max(queuedMs, controlMs - INTERVAL_MS, 0);
    gaps.push({ atMs: fromMs - startedMs, gapMs, queuedMs, controlMs, ownMs });
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
  process.send?.('started');
  await once(process, 'message');
  stopped = true;
  await Promise.all(loops);
  const report: ProbeReport = { answers, failures, gaps: longest(gaps) };
  control.disconnect();
  process.send?.(report, () => process.disconnect());
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
function readQueuedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1_000_000;
  } catch {
    // No Linux, or the process has ended: the control server alone counts then.
    return 0;
  }
}

if (process.send !== undefined) {
  const [options] = await once(process, 'message');
  await probe(options);
}
