/**
 * Gives memory back to the system that V8 keeps for a process that is never short of it: starting compiles a validator and a
 * serializer for every operation and leaves more than 100 MB of garbage (247 MB resident at rest without this, 135 MB with it), and
 * an hour of large files and bodies leaves as much again in pages that hold nothing.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 10_000;
/** Of the time since the last look in which the event loop did anything. */
const REST_SHARE = 0.15;
const GROWTH_BYTES = 32 * 1_048_576;

type CollectGarbage = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Takes about 0.1 s, in which nothing else runs: for a moment when nobody waits. */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as CollectGarbage;
  setFlagsFromString('--no-expose-gc');
  // The embedded store's code would go with the garbage, and be compiled anew: see embedded-worker.ts.
  setFlagsFromString('--no-flush-liftoff-code');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--flush-liftoff-code');
}

/**
 * Releases what starting has left at the first look, also from a process that is busy: it takes as much time once as it does later, and keeps
 * the heap that serves a load by a third smaller. After that, whenever the process rests and has grown. Keeps no process alive.
 */
export function releaseMemoryNowAndThen(
  release: () => void,
  { atFirstRest, lookEveryMs = LOOK_EVERY_MS }: { readonly atFirstRest: () => void; readonly lookEveryMs?: number },
): { stop(): void } {
  let smallest: number | undefined;
  let hasRested = false;
  let seen = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const isAtRest = performance.eventLoopUtilization(now, seen).utilization <= REST_SHARE;
    seen = now;
    if (isAtRest && !hasRested) {
      hasRested = true;
      atFirstRest();
    }
    if (smallest !== undefined && (!isAtRest || process.memoryUsage.rss() - smallest < GROWTH_BYTES)) return;
    release();
    // What it cannot give back is its size from now on.
    smallest = process.memoryUsage.rss();
    seen = performance.eventLoopUtilization();
  }, lookEveryMs).unref();
  return { stop: () => clearInterval(timer) };
}
