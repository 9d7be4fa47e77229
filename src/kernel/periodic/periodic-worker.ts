/**
 * Work that no request asks for, done by a pass now and every so often:
 *
 *   idle ──start──▶ passing ──ended──▶ waiting ──interval over, or woken──▶ passing …
 *                   │     ▲
 *                   └─────┘ woken meanwhile: one more pass at once
 *
 * Two passes of one worker never overlap. After a pass that failed the wait is longer, each time, up to a cap. A pass may ask for a
 * shorter wait than the interval.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimer, type Timer } from '../clock/timers.ts';
import type { StoreUse } from '../db/store-use.ts';
import { type Backoff, backoffMs } from '../retry/backoff.ts';

export interface PeriodicWorkerOptions {
  /** For the log: `orders`. */
  readonly name: string;
  /** From the end of a pass to the start of the next. Absent: a pass runs when the worker is woken, when the one before says so, or to repeat one that failed. */
  readonly intervalMs?: number;
  /** One pass. The signal is aborted when the worker stops. */
  readonly pass: PeriodicPass;
  readonly logger?: PeriodicWorkerLogger | undefined;
  /** While nobody uses it the wait doubles after each pass, up to `quietMs`; the next use brings it back to the interval. */
  readonly store?: { readonly use: StoreUse };
  /** Default 300,000, and never less than the interval. */
  readonly quietMs?: number;
  /** Whether `start` begins with a pass, or waits first, for the interval or a wake-up. Default true. */
  readonly startsAtOnce?: boolean;
  /** The wait after failed passes. Default: from the interval on (a second, without one), up to ten times of it, with jitter. */
  readonly backoff?: Backoff;
}

/** Resolves with the milliseconds until the next thing is due that it knows of, if any: the next pass comes no later. */
// biome-ignore lint/suspicious/noConfusingVoidType: most passes know of nothing, and say nothing.
export type PeriodicPass = (signal: AbortSignal) => Promise<number | undefined | void>;

export interface PeriodicWorkerLogger {
  error(fields: object, message: string): void;
}

export interface PeriodicWorker {
  /** Once. */
  start(): void;
  /** Has a pass run at once, or one more after the one under way. Does nothing unless the worker is started. */
  wake(): void;
  /** Runs a pass, started or not, or joins the one under way; rejects as the pass does. */
  runPass(): Promise<void>;
  /** Starts no further pass; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

export function createPeriodicWorker(options: PeriodicWorkerOptions): PeriodicWorker {
  return new Worker(options);
}

const LONGEST_BACKOFF_INTERVALS = 10;
const BACKOFF_WITHOUT_INTERVAL_MS = 1_000;
/** Of a worker whose passes say when the next thing is due, or to which only a change of the store gives something to do. */
const QUIET_MS = 300_000;
/** `quietMs` of workers for which things come due by themselves, and whose passes do not tell of them. */
export const UNTOLD_LOOK_MS = 30_000;
/** The same, where they may well come a little later. */
export const SPARE_LOOK_MS = 120_000;

class Worker implements PeriodicWorker {
  readonly #options: PeriodicWorkerOptions;
  /** What wakes it may be in a transaction, or on another clock. */
  readonly #inOwnContext = AsyncLocalStorage.snapshot();
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  #isStarted = false;
  #isWoken = false;
  #failures = 0;
  #waitMs: number | undefined;
  /** Uses of the store when the last pass began, which has seen what they left. */
  #usesSeen = 0;
  #dueInMs: number | undefined;
  #timer: Timer | undefined;
  #stopAwaitingUse: (() => void) | undefined;
  #pass: Promise<void> | undefined;
  /** Passes one after the other, until none is asked for any more. */
  #series: Promise<void> | undefined;

  constructor(options: PeriodicWorkerOptions) {
    const { intervalMs = BACKOFF_WITHOUT_INTERVAL_MS } = options;
    this.#options = options;
    // Twice the interval at first: half of it is the least that jitter leaves.
    this.#backoff = options.backoff ?? {
      firstMs: 2 * intervalMs,
      longestMs: LONGEST_BACKOFF_INTERVALS * intervalMs,
      jitter: 'half',
    };
  }

  start(): void {
    if (this.#isStarted || this.#stopping.signal.aborted) return;
    this.#isStarted = true;
    if (this.#options.startsAtOnce === false) this.#setTimer(this.#options.intervalMs);
    else this.wake();
  }

  wake(): void {
    if (!this.#isStarted || this.#stopping.signal.aborted) return;
    this.#isWoken = true;
    this.#cancelTimer();
    this.#series ??= this.#inOwnContext(() => this.#runSeries());
  }

  runPass(): Promise<void> {
    const { pass } = this.#options;
    this.#pass ??= this.#inOwnContext(async () => {
      this.#usesSeen = this.#options.store?.use.count ?? 0;
      this.#dueInMs = undefined;
      this.#dueInMs = (await pass(this.#stopping.signal)) ?? undefined;
    }).finally(() => {
      this.#pass = undefined;
    });
    return this.#pass;
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error(`${this.#options.name}: stopping`));
    this.#cancelTimer();
    await this.#series;
    await this.#pass?.catch(() => undefined);
  }

  async #runSeries(): Promise<void> {
    while (this.#isWoken) {
      // One that is under way may have read too early what the wake-up is about.
      if (this.#pass !== undefined) await this.#pass.catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      this.#isWoken = false;
      await this.runPass().then(
        () => {
          this.#failures = 0;
        },
        (error: unknown) => this.#countFailure(error),
      );
    }
    // In the same step as the last look at #isWoken, so that no wake-up falls between the two.
    this.#series = undefined;
    if (!this.#stopping.signal.aborted) this.#setTimer(this.#nextWaitMs());
  }

  #countFailure(error: unknown): void {
    this.#failures += 1;
    const { name, logger } = this.#options;
    logger?.error({ err: error, worker: name, failures: this.#failures }, 'a periodic pass failed; it runs again');
  }

  #nextWaitMs(): number | undefined {
    if (this.#failures > 0) return backoffMs(this.#failures, this.#backoff);
    const { intervalMs, store, quietMs = QUIET_MS } = this.#options;
    if (intervalMs === undefined) return this.#dueInMs;
    const isInUse = store === undefined || store.use.count !== this.#usesSeen;
    this.#waitMs = isInUse ? intervalMs : Math.max(intervalMs, Math.min(2 * (this.#waitMs ?? intervalMs), quietMs));
    // What stays due though a pass has just run is tried again at the usual pace.
    return Math.min(this.#waitMs, Math.max(intervalMs, this.#dueInMs ?? this.#waitMs));
  }

  #setTimer(delayMs: number | undefined): void {
    if (delayMs === undefined) return;
    this.#timer = this.#inOwnContext(() => setTimer(() => this.wake(), delayMs));
    const { intervalMs, store } = this.#options;
    if (store === undefined || intervalMs === undefined || delayMs <= intervalMs || this.#failures > 0) return;
    this.#stopAwaitingUse = store.use.onNextUse(() => {
      this.#cancelTimer();
      this.#setTimer(intervalMs);
    });
  }

  #cancelTimer(): void {
    this.#timer?.cancel();
    this.#stopAwaitingUse?.();
    this.#stopAwaitingUse = undefined;
  }
}
