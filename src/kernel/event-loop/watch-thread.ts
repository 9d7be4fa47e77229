/**
 * What the watch's thread runs. The main thread counts ticks in shared memory; where the count stands still, the main
 * thread is blocked, and its debugger tells what it is doing: a pause takes effect in the midst of a loop, or of the
 * matching of a pattern.
 */

export interface WatchPace {
  /** Between two ticks of the main thread. */
  readonly tickMs: number;
  /** Between two looks of the thread. */
  readonly checkMs: number;
}

export interface WatchSettings {
  /**
   * Three 32-bit integers: what the main thread counts up, 1 while it blocks itself on purpose, and 1 while it ticks at the quick pace.
   * When it begins to, it sends a message as well, so that the thread looks at once.
   */
  readonly shared: SharedArrayBuffer;
  readonly quick: WatchPace;
  readonly slow: WatchPace;
  /** The main thread is taken to be blocked when a tick is so late. */
  readonly blockedMs: number;
  /** A capture takes some 50 ms of a thread that is blocked anyway; not more often than this. */
  readonly captureEveryMs: number;
  /** A block as long as this is told of by the thread itself: the main thread may never come to it. */
  readonly tellAfterMs: number;
  /** The process is ended then. 0: never. */
  readonly endAfterMs: number;
  /** What file URLs are shortened by. */
  readonly root: string;
  /** Whether the thread may write to standard error. */
  readonly writes: boolean;
}

/** A block that is over. */
export interface CapturedBlock {
  /** The count at which it stood. */
  readonly tick: number;
  /** Innermost first: `function@file:line`. */
  readonly stack: readonly string[];
}

/**
 * The thread is given the text of this function and nothing else: a module of TypeScript would take twice the memory. So
 * it refers to nothing outside itself.
 */
export function watchMainThread(): void {
  const { workerData, parentPort } = process.getBuiltinModule('node:worker_threads');
  const { Session } = process.getBuiltinModule('node:inspector');
  const { writeSync } = process.getBuiltinModule('node:fs');
  const settings: WatchSettings = workerData;
  const shared = new Int32Array(settings.shared);
  const shownFrames = 12;

  let tick = -1;
  let checkedAtMs = performance.now();
  let delayMs = 0;
  let silentMs = 0;
  let capturedAtMs = Number.NEGATIVE_INFINITY;
  let stack: string[] | undefined;
  let told = false;
  let stopCapture: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  parentPort?.on('message', look);
  look();

  function look(): void {
    const pace = Atomics.load(shared, 2) === 1 ? settings.quick : settings.slow;
    check(pace.tickMs + settings.blockedMs);
    // A block is watched closely, whatever the pace.
    delayMs = silentMs > pace.tickMs ? settings.quick.checkMs : pace.checkMs;
    clearTimeout(timer);
    timer = setTimeout(look, delayMs);
  }

  function check(longestSilenceMs: number): void {
    const nowMs = performance.now();
    // Time in which this thread did not run either, as in a machine that sleeps, does not count.
    const gapMs = Math.min(nowMs - checkedAtMs, 2 * delayMs);
    checkedAtMs = nowMs;
    const seen = Atomics.load(shared, 0);
    if (seen !== tick || Atomics.load(shared, 1) === 1) {
      endBlock();
      tick = seen;
      return;
    }
    const isKnown = silentMs >= longestSilenceMs;
    silentMs += gapMs;
    if (silentMs >= longestSilenceMs && nowMs - capturedAtMs >= settings.captureEveryMs) capture(nowMs);
    if (silentMs >= settings.tellAfterMs && !told && isKnown) {
      told = true;
      write('error', 'the event loop is blocked');
    }
    // The check that finds a block asks for its stack: the process does not end before that can have come.
    if (settings.endAfterMs > 0 && silentMs >= settings.endAfterMs && isKnown) {
      write('fatal', 'the event loop has been blocked for too long: ending the process');
      process.kill(process.pid, 'SIGKILL');
    }
  }

  function endBlock(): void {
    stopCapture?.();
    if (stack !== undefined) parentPort?.postMessage({ tick, stack } satisfies CapturedBlock);
    stack = undefined;
    silentMs = 0;
    told = false;
  }

  function capture(nowMs: number): void {
    capturedAtMs = nowMs;
    const files = new Map<string, string>();
    const session = new Session();
    session.connectToMainThread();
    const stop = () => {
      stopCapture = undefined;
      session.disconnect();
    };
    stopCapture = stop;
    session.on('Debugger.scriptParsed', ({ params }) => files.set(params.scriptId, params.url));
    session.on('Debugger.paused', ({ params }) => {
      // The end of the session has let the main thread go on already.
      if (stopCapture !== stop) return;
      // Past the block, whatever runs is not what blocked.
      if (Atomics.load(shared, 0) === tick) {
        stack = params.callFrames.slice(0, shownFrames).map(({ functionName, location, url }) => {
          const file = (files.get(location.scriptId) || url || '(compiled)').replace(settings.root, '');
          return `${functionName || '(anonymous)'}@${file}:${location.lineNumber + 1}`;
        });
      }
      session.post('Debugger.resume');
      stop();
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
  }

  /** As the log's lines are, past the logger, which is the main thread's. */
  function write(level: string, msg: string): void {
    if (!settings.writes) return;
    const line = {
      level,
      time: new Date().toISOString(),
      pid: process.pid,
      durationMs: Math.round(silentMs),
      stack,
      msg,
    };
    try {
      writeSync(2, `${JSON.stringify(line)}\n`);
    } catch {
      // Whoever reads standard error does not keep up: what follows must happen all the same.
    }
  }
}
