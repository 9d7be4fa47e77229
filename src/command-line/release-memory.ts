/**
 * Gives memory back to the system that V8 keeps for a process that is never short of it: starting compiles a validator and a
 * serializer for every operation and leaves more than 100 MB of garbage (247 MB resident at rest without this, 135 MB with it), and
 * a load leaves as much again in pages that hold nothing.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 10_000;
/** A process that rests and has nothing to release is looked at less often by so much: what it grows by meanwhile waits for so long at most. */
const RARER_AT_REST = 6;
/** Of the time since the last look in which the event loop did anything. */
const REST_SHARE = 0.15;
/** Of it that the thread computed: where others have the processors, what takes a process at rest little takes it long. */
const REST_COMPUTED_SHARE = 0.05;
const GROWTH_BYTES = 32 * 1_048_576;
/** What a collection finds to be finished with is garbage for the next one. After these it stays. */
const RELEASES_IN_A_ROW = 2;

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
  /** Whenever the process rests and has grown; once more at the next look where that did not help. */
  readonly atRest: () => void;
  /** Default 10,000; six times that while the process rests and has nothing to release. */
  readonly lookEveryMs?: number;
}

/** Keeps no process alive. */
export function releaseMemoryNowAndThen(steps: ReleaseSteps): { stop(): void } {
  const { afterStart, atFirstRest, atRest, lookEveryMs = LOOK_EVERY_MS } = steps;
  /** Undefined: it is about to show. */
  let smallest: number | undefined;
  let isReleased = false;
  let hasRested = false;
  let releases = 0;
  let seen = lookAtThread();
  let timer = setTimeout(look, lookEveryMs).unref();

  function look(): void {
    let delayMs = lookEveryMs;
    const isAtRest = hasRestedSince(seen);
    if (isAtRest && !hasRested) {
      hasRested = true;
      atFirstRest();
    }
    const resident = process.memoryUsage.rss();
    if (!isReleased) {
      isReleased = true;
      afterStart();
    } else if (isAtRest && smallest !== undefined && resident - smallest >= GROWTH_BYTES) {
      releases += 1;
      if (releases === RELEASES_IN_A_ROW) smallest = undefined;
      atRest();
    } else {
      releases = 0;
      if (isAtRest && smallest !== undefined) delayMs *= RARER_AT_REST;
      smallest = Math.min(smallest ?? resident, resident);
    }
    seen = lookAtThread();
    timer = setTimeout(look, delayMs).unref();
  }
  return { stop: () => clearTimeout(timer) };
}

interface ThreadLook {
  readonly loop: ReturnType<typeof performance.eventLoopUtilization>;
  readonly computed: NodeJS.CpuUsage;
  readonly atMs: number;
}

function lookAtThread(): ThreadLook {
  return {
    loop: performance.eventLoopUtilization(),
    computed: process.threadCpuUsage(),
    atMs: performance.now(),
  };
}

function hasRestedSince({ loop, computed, atMs }: ThreadLook): boolean {
  if (performance.eventLoopUtilization(loop).utilization <= REST_SHARE) return true;
  const { user, system } = process.threadCpuUsage(computed);
  return (user + system) / 1_000 <= REST_COMPUTED_SHARE * (performance.now() - atMs);
}
