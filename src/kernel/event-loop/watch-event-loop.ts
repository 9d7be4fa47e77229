/**
 * Watches the event loop from a thread of its own, and says what blocks it: one line in the log with the stack, and a
 * metric. A process that stays blocked is ended, as a supervisor can start it again: others have taken over its turns
 * by then, and its connections wait for nothing.
 *
 *   main thread ──counts ticks──▶ shared memory ◀──looks── thread
 *        ▲                                                   │ no tick: pauses the main thread, reads its stack, lets it go on
 *        └───────────────── the stack, once it ticks again ──┘
 *
 * Both are quick while the process is active (activity.ts) and slow while it is idle, so that an idle server hardly wakes up. A block
 * that begins in an idle process is found some seconds later, unless it is shorter: what serves callers has made the process active before.
 *
 * The thread takes some 10 MB of memory.
 */
import { url as inspectorUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import { followActivity } from './activity.ts';
import { type CapturedBlock, type WatchPace, type WatchSettings, watchMainThread } from './watch-thread.ts';

/** Lateness of a tick that is a block. */
export const BLOCKED_MS = 100;
/** The thread looks twice until a block is found. It looks more rarely than the main thread ticks, as a look costs more. */
const QUICK: WatchPace = { tickMs: 50, checkMs: 75 };
/** Each check must see a new tick, be one of them a little late. */
const SLOW: WatchPace = { tickMs: 2_000, checkMs: 3_000 };
const CAPTURE_EVERY_MS = 10_000;
const TELL_AFTER_MS = 5_000;
/** Seconds. */
export const BLOCK_BUCKETS_S: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface EventLoopLogger {
  warn(fields: object, message: string): void;
  isLevelEnabled(level: string): boolean;
}

export interface EventLoopWatchOptions {
  readonly logger: EventLoopLogger;
  /** Told of each block of BLOCKED_MS and more, when it is over. */
  readonly onBlock: (durationMs: number) => void;
  /** A block of this length ends the process (SIGKILL). 0: never. */
  readonly endAfterMs: number;
  /** A file URL, with a slash at its end: what stacks show is relative to it. */
  readonly root: string;
  /** Between two stacks. Default 10,000: blocks in between are counted alone. */
  readonly captureEveryMs?: number;
}

export interface EventLoopWatch {
  /** Runs work that is known to block, which nobody is told of. */
  ignoring(work: () => void): void;
  stop(): Promise<void>;
}

/** Begins to watch. Keeps no process alive. A process under a debugger is not watched: breakpoints are no faults. */
export function watchEventLoop(options: EventLoopWatchOptions): EventLoopWatch {
  if (inspectorUrl() !== undefined) return { ignoring: (work) => work(), stop: async () => undefined };
  const { logger, onBlock, endAfterMs, root, captureEveryMs = CAPTURE_EVERY_MS } = options;
  const shared = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
  let pace = SLOW;
  let tickedAtMs = performance.now();
  let last = { tick: 0, durationMs: 0 };
  let blocks = 0;
  /** Of the block that the next tick ends: how long it was is not known before. */
  let early: CapturedBlock | undefined;

  const tell = ({ tick, stack }: CapturedBlock): void => {
    const durationMs = last.tick === tick ? Math.round(last.durationMs) : undefined;
    logger.warn({ durationMs, blocks, stack }, 'the event loop was blocked');
    blocks = 0;
  };

  const takeTick = (): void => {
    const nowMs = performance.now();
    const durationMs = nowMs - tickedAtMs - pace.tickMs;
    tickedAtMs = nowMs;
    const tick = Atomics.add(shared, 0, 1);
    if (durationMs >= BLOCKED_MS) {
      last = { tick, durationMs };
      blocks += 1;
      onBlock(durationMs);
    }
    if (early !== undefined) tell(early);
    early = undefined;
  };
  let timer = setInterval(takeTick, pace.tickMs).unref();

  const thread = startThread({
    shared: shared.buffer,
    quick: QUICK,
    slow: SLOW,
    blockedMs: BLOCKED_MS,
    captureEveryMs,
    tellAfterMs: TELL_AFTER_MS,
    endAfterMs,
    root,
    writes: logger.isLevelEnabled('error'),
  });
  thread.on('message', (block: CapturedBlock) => {
    // After a block the message may come before the tick does.
    if (Atomics.load(shared, 0) === block.tick) early = block;
    else tell(block);
  });
  thread.on('error', (error) => logger.warn({ err: error }, 'the event loop is not watched any more'));

  const goOnAt = (next: WatchPace): void => {
    // The tick that is due may be late.
    takeTick();
    pace = next;
    Atomics.store(shared, 2, pace === QUICK ? 1 : 0);
    clearInterval(timer);
    timer = setInterval(takeTick, pace.tickMs).unref();
    // The thread waits for as long as its last pace has told it to.
    if (pace === QUICK) thread.postMessage('look');
  };
  const unfollow = followActivity({ start: () => goOnAt(QUICK), stop: () => goOnAt(SLOW) });

  return {
    ignoring(work) {
      Atomics.store(shared, 1, 1);
      work();
      tickedAtMs = performance.now();
      Atomics.add(shared, 0, 1);
      Atomics.store(shared, 1, 0);
    },
    async stop() {
      unfollow();
      clearInterval(timer);
      await thread.terminate();
    },
  };
}

function startThread(workerData: WatchSettings): Worker {
  const thread = new Worker(`(${watchMainThread})()`, {
    eval: true,
    workerData,
    // Flags of the main program, and its settings, are not the thread's business.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
  });
  thread.unref();
  return thread;
}
