/**
 * Gives back to the system what starting has left: it compiles a validator and a serializer for every operation, and leaves more than
 * 100 MB of garbage (247 MB resident at rest without this, 135 MB with it). Later garbage V8 collects bit by bit by itself, within a
 * quarter of a minute of rest.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 10_000;
/** Of the time since the last look in which the event loop did anything. */
const REST_SHARE = 0.15;

type CollectGarbage = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Takes 0.1 to 0.2 s, in which nothing else runs: two full collections. */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as CollectGarbage;
  setFlagsFromString('--no-expose-gc');
  // The embedded store's code would go with the garbage, and be compiled anew: see embedded-worker.ts.
  setFlagsFromString('--no-flush-liftoff-code');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--flush-liftoff-code');
}

export interface AfterStart {
  /** At the first look, also of a process that is busy: it takes as much time then, and keeps the heap that serves a load by a third smaller. */
  readonly release: () => void;
  /** Once, when the process has come to rest. */
  readonly atFirstRest: () => void;
  /** Default 10,000. */
  readonly lookEveryMs?: number;
}

/** Tidies up after the start, each part once. Keeps no process alive. */
export function tidyAfterStart({ release, atFirstRest, lookEveryMs = LOOK_EVERY_MS }: AfterStart): { stop(): void } {
  let isReleased = false;
  let seen = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const isAtRest = performance.eventLoopUtilization(seen).utilization <= REST_SHARE;
    if (isAtRest) {
      atFirstRest();
      clearInterval(timer);
    }
    if (!isReleased) release();
    isReleased = true;
    seen = performance.eventLoopUtilization();
  }, lookEveryMs).unref();
  return { stop: () => clearInterval(timer) };
}
