/**
 * Gives memory back to the system that V8 keeps for a process that is never short of it: starting compiles a validator and a
 * serializer for every operation and leaves more than 100 MB of garbage (247 MB resident at rest without this, 135 MB with it), and
 * a load leaves as much again in pages that hold nothing.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 10_000;
/** Of the time since the last look in which the event loop did anything. */
const REST_SHARE = 0.15;
const GROWTH_BYTES = 32 * 1_048_576;

type CollectGarbage = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' | 'regular' }) => void;

/** Everything, at once. Takes 0.1 to 0.2 s, in which nothing else runs: for the start. */
export function releaseMemory(): void {
  collectGarbage('last-resort');
}

/** Takes some 60 ms. V8 notices what it has found, and gives that back bit by bit in the seconds of rest that follow. */
export function releaseMemoryGradually(): void {
  collectGarbage('regular');
}

function collectGarbage(flavor: 'last-resort' | 'regular'): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as CollectGarbage;
  setFlagsFromString('--no-expose-gc');
  // The embedded store's code would go with the garbage, and be compiled anew: see embedded-worker.ts.
  setFlagsFromString('--no-flush-liftoff-code');
  collect({ type: 'major', execution: 'sync', flavor });
  setFlagsFromString('--flush-liftoff-code');
}

export interface ReleaseSteps {
  /**
   * What starting has left, at the first look, also of a process that is busy: it takes as much time once as it does later, and
   * keeps the heap that serves a load by a third smaller.
   */
  readonly afterStart: () => void;
  /** Once, when the process has come to rest. */
  readonly atFirstRest: () => void;
  /** Whenever the process rests and has grown. */
  readonly atRest: () => void;
  /** Default 10,000. */
  readonly lookEveryMs?: number;
}

/** Keeps no process alive. */
export function releaseMemoryNowAndThen(steps: ReleaseSteps): { stop(): void } {
  const { afterStart, atFirstRest, atRest, lookEveryMs = LOOK_EVERY_MS } = steps;
  /** Undefined: it is about to show. */
  let smallest: number | undefined;
  let isReleased = false;
  let hasRested = false;
  let seen = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const isAtRest = performance.eventLoopUtilization(seen).utilization <= REST_SHARE;
    if (isAtRest && !hasRested) {
      hasRested = true;
      atFirstRest();
    }
    const resident = process.memoryUsage.rss();
    if (!isReleased) {
      isReleased = true;
      afterStart();
    } else if (isAtRest && smallest !== undefined && resident - smallest >= GROWTH_BYTES) {
      smallest = undefined;
      atRest();
    } else smallest = Math.min(smallest ?? resident, resident);
    seen = performance.eventLoopUtilization();
  }, lookEveryMs).unref();
  return { stop: () => clearInterval(timer) };
}
