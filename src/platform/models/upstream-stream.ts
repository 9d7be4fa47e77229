import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { elapsedMs, setTimer, type Timer } from '../../kernel/clock/timers.ts';
import type { PartSource } from './chat-model.ts';

export interface UpstreamLimits {
  /** Until the first part that comes from the provider (not the package's own `stream-start`). */
  readonly connectTimeoutMs: number;
  /** Between two parts, while the reader waits. A slow reader is not the upstream's fault and is not counted. */
  readonly idleTimeoutMs: number;
}

export type StopReason =
  | { readonly type: 'aborted'; readonly reason: unknown }
  | { readonly type: 'timeout'; readonly after: 'connect' | 'idle' };

/** Thrown by `open`, `read` and `accept` once the stream was stopped from this side. */
class StoppedError extends Error {
  readonly stop: StopReason;

  constructor(stop: StopReason) {
    super(stop.type);
    this.name = 'StoppedError';
    this.stop = stop;
  }
}

/** How long a finished answer's connection may take to end by itself, so that it can be used again, before it is cut. */
const DRAIN_MS = 1000;

/**
 * One request to a model, with its time limits and its cancellation. A stop takes effect at once, whether or not the
 * model heeds it: a pending read ends, and the request's signal is aborted, which closes the socket.
 *
 * One timer serves the whole stream. It is not moved for each part, which at thousands of parts a second would cost more
 * than the parts: when it fires it looks at when the present wait began and, if that was lately, waits for the rest.
 */
export class UpstreamStream {
  readonly #limits: UpstreamLimits;
  readonly #signal: AbortSignal | undefined;
  readonly #request = new AbortController();
  readonly #stopped = Promise.withResolvers<never>();
  #source: PartSource | undefined;
  #stop: StopReason | undefined;
  #timer: Timer | undefined;
  #waitingSince: number | undefined;
  #connected = false;

  constructor(limits: UpstreamLimits, signal: AbortSignal | undefined) {
    this.#limits = limits;
    this.#signal = signal;
    // It is awaited only while the request is being opened.
    this.#stopped.promise.catch(() => {});
  }

  /** Sends the request, which is given its signal. Throws `StoppedError`, or whatever the provider's package throws. */
  async open(send: (signal: AbortSignal) => Promise<PartSource>): Promise<void> {
    this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#signal?.aborted) this.#onAbort();
    this.#throwIfStopped();
    this.#waitingSince = elapsedMs();
    this.#arm(this.#limits.connectTimeoutMs);
    const request = (async () => send(this.#request.signal))();
    // An answer that arrives after the stop is nobody's.
    request.then((late) => (this.#stop === undefined ? undefined : late.cancel())).catch(ignore);
    this.#source = await Promise.race([request, this.#stopped.promise]);
    this.#throwIfStopped();
  }

  /**
   * Waits for the next parts, which are then to be handed to `accept`. Two steps in place of one that awaits: at thousands
   * of parts a second the promise between them would be a good part of the cost.
   */
  read(): Promise<readonly LanguageModelV4StreamPart[] | undefined> {
    this.#throwIfStopped();
    if (this.#source === undefined) throw new Error('The request has not been opened.');
    if (this.#connected) this.#waitingSince = elapsedMs();
    return this.#source.read();
  }

  /** Notes that parts came, or the end. Throws `StoppedError`, for a stop looks like an end to the reader. */
  accept(parts: readonly LanguageModelV4StreamPart[] | undefined): void {
    this.#throwIfStopped();
    if (this.#connected) this.#waitingSince = undefined;
    else if (parts?.some(({ type }) => type !== 'stream-start')) this.#noteConnected();
  }

  /** Why this side ended the request; whatever the stream failed with since is only its echo. */
  get stopReason(): StopReason | undefined {
    return this.#stop;
  }

  /** Ends the request. `finished`: the answer is complete, so that its connection may be left to end in its own time. */
  close(finished: boolean): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#timer?.cancel();
    if (!finished || this.#source === undefined) {
      this.#cut();
      return;
    }
    const timer = setTimer(() => this.#cut(), DRAIN_MS);
    this.#source.drain().finally(() => timer.cancel());
  }

  #noteConnected(): void {
    this.#connected = true;
    this.#waitingSince = undefined;
    this.#arm(this.#limits.idleTimeoutMs);
  }

  #arm(ms: number): void {
    this.#timer?.cancel();
    this.#timer = setTimer(this.#onTimer, ms, { keepsProcess: true });
  }

  readonly #onTimer = (): void => {
    const limit = this.#connected ? this.#limits.idleTimeoutMs : this.#limits.connectTimeoutMs;
    const waited = this.#waitingSince === undefined ? 0 : elapsedMs() - this.#waitingSince;
    // Timers may fire a fraction of a millisecond early.
    if (waited + 1 < limit) this.#arm(limit - waited);
    else this.#halt({ type: 'timeout', after: this.#connected ? 'idle' : 'connect' });
  };

  readonly #onAbort = (): void => this.#halt({ type: 'aborted', reason: this.#signal?.reason });

  #halt(stop: StopReason): void {
    if (this.#stop !== undefined) return;
    this.#stop = stop;
    this.#timer?.cancel();
    this.#stopped.reject(new StoppedError(stop));
    this.#cut();
  }

  /** Aborts the request first, for some packages branch the stream, where cancelling one branch reaches nobody. */
  #cut(): void {
    this.#request.abort();
    this.#source?.cancel();
  }

  #throwIfStopped(): void {
    if (this.#stop !== undefined) throw new StoppedError(this.#stop);
  }
}

/** For promises whose failure is reported elsewhere. */
function ignore(): void {}
