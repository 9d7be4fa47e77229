/**
 * Everything that src/ waits with. Each function asks the clock of its async context (see `clock.ts`); without one it is Node's
 * own, looked up when it is called, so that `mock.timers` of node:test has its effect.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import nodeTimers from 'node:timers/promises';
import { type Timer, type TurnedClock, turnedClock } from './clock.ts';

export type { Timer } from './clock.ts';

export interface RestartableTimer extends Timer {
  /** Counts its delay anew, fired or not. Does nothing once it is cancelled. */
  restart(): void;
}

export interface TimerOptions {
  /** The process does not end before the timer has fired or is cancelled: for what nothing else may hold it for. Default false. */
  readonly keepsProcess?: boolean;
}

/** Calls back once, `delayMs` from now, unless the timer is cancelled before. */
export function setTimer(callback: () => void, delayMs: number, options?: TimerOptions): RestartableTimer {
  const clock = turnedClock();
  if (clock !== undefined) return new TurnedTimer(clock, AsyncLocalStorage.bind(callback), atLeastOne(delayMs));
  const timeout = setTimeout(callback, delayMs);
  if (options?.keepsProcess !== true) timeout.unref();
  return new SystemTimer(timeout);
}

/** Calls back every `intervalMs` until it is cancelled. */
export function setTicker(callback: () => void, intervalMs: number, options?: TimerOptions): Timer {
  const clock = turnedClock();
  if (clock !== undefined) return tickBy(clock, AsyncLocalStorage.bind(callback), atLeastOne(intervalMs));
  const interval = setInterval(callback, intervalMs);
  if (options?.keepsProcess !== true) interval.unref();
  return { cancel: () => clearInterval(interval) };
}

export interface PausableTicker {
  /** Ticks from now on, unless it does already. */
  resume(): void;
  /** Has no timer until it is resumed. */
  pause(): void;
}

/** A ticker for work that is not always there, paused at first. It ticks in the async context of this call, whoever resumes it. */
export function createPausableTicker(callback: () => void, intervalMs: number, options?: TimerOptions): PausableTicker {
  const runHere = AsyncLocalStorage.snapshot();
  let ticker: Timer | undefined;
  return {
    resume() {
      ticker ??= runHere(() => setTicker(callback, intervalMs, options));
    },
    pause() {
      ticker?.cancel();
      ticker = undefined;
    },
  };
}

/** Rejects with Node's AbortError, whose cause is the signal's reason, when the signal is aborted. Keeps the process unless told not to. */
export function sleep(
  delayMs: number,
  signal?: AbortSignal,
  { keepsProcess = true }: TimerOptions = {},
): Promise<void> {
  const clock = turnedClock();
  if (clock !== undefined) return sleepBy(clock, atLeastOne(delayMs), signal);
  return nodeTimers.setTimeout(delayMs, undefined, { ref: keepsProcess, ...(signal !== undefined && { signal }) });
}

/** A signal that is aborted with a `TimeoutError` then. Does not keep the process. */
export function abortAfter(timeoutMs: number): AbortSignal {
  const clock = turnedClock();
  if (clock === undefined) return AbortSignal.timeout(timeoutMs);
  const controller = new AbortController();
  const late = () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  clock.setTimer(AsyncLocalStorage.bind(late), atLeastOne(timeoutMs));
  return controller.signal;
}

/** Milliseconds since some moment of the process, which no change of the time of day touches: to compare, not to measure with. */
export function elapsedMs(): number {
  return turnedClock()?.elapsedMs() ?? performance.now();
}

/** As Node takes its delays. A clock that is turned would never get past a timer that sets itself again for at once. */
function atLeastOne(delayMs: number): number {
  return delayMs >= 1 ? delayMs : 1;
}

class SystemTimer implements RestartableTimer {
  readonly #timeout: NodeJS.Timeout;

  constructor(timeout: NodeJS.Timeout) {
    this.#timeout = timeout;
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  restart(): void {
    this.#timeout.refresh();
  }
}

class TurnedTimer implements RestartableTimer {
  readonly #clock: TurnedClock;
  readonly #callback: () => void;
  readonly #delayMs: number;
  #timer: Timer;
  #isCancelled = false;

  constructor(clock: TurnedClock, callback: () => void, delayMs: number) {
    this.#clock = clock;
    this.#callback = callback;
    this.#delayMs = delayMs;
    this.#timer = clock.setTimer(callback, delayMs);
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#timer.cancel();
  }

  restart(): void {
    if (this.#isCancelled) return;
    this.#timer.cancel();
    this.#timer = this.#clock.setTimer(this.#callback, this.#delayMs);
  }
}

function tickBy(clock: TurnedClock, callback: () => void, intervalMs: number): Timer {
  const tick = () => {
    timer = clock.setTimer(tick, intervalMs);
    callback();
  };
  let timer = clock.setTimer(tick, intervalMs);
  return { cancel: () => timer.cancel() };
}

function sleepBy(clock: TurnedClock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  // Whom it is aborted for gets the very error that Node makes.
  const aborted = () => nodeTimers.setTimeout(0, undefined, signal && { signal });
  if (signal?.aborted === true) return aborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => {
    timer.cancel();
    resolve(aborted());
  };
  const timer = clock.setTimer(() => {
    signal?.removeEventListener('abort', stop);
    resolve();
  }, delayMs);
  signal?.addEventListener('abort', stop, { once: true });
  return promise;
}
