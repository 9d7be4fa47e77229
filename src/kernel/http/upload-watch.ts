/** Watches a body that is read for long: how much of it there is, and whether its sender keeps up (see watch-connections.ts). */
import type { IncomingMessage } from 'node:http';
import { setTimer } from '../clock/timers.ts';
import { ApiError } from './errors.ts';

/** How long a sender may go on sending what is dropped, before its connection is closed. */
const DROP_TIMEOUT_MS = 10_000;

interface WatchLimits {
  /** Of the whole body. */
  readonly maxBytes: number;
  readonly tooLarge: () => ApiError;
}

export class UploadWatch {
  readonly #request: IncomingMessage;
  readonly #limits: WatchLimits;
  readonly #broken = Promise.withResolvers<never>();
  readonly #listeners = new Set<(error: ApiError) => void>();
  #bytes = 0;

  /** Call right before the body is piped: listening sets it flowing. */
  constructor(request: IncomingMessage, limits: WatchLimits) {
    this.#request = request;
    this.#limits = limits;
    // Nobody may be waiting when it breaks.
    this.#broken.promise.catch(() => undefined);
    request.on('data', this.#onData);
    request.on('error', this.#onError);
  }

  /** The promise's outcome, or the refusal of a body that breaks a limit first. */
  orBroken<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#broken.promise]);
  }

  /** Calls back when the body breaks a limit. Call what is returned to hear no more. */
  onBroken(listener: (error: ApiError) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  end(): void {
    this.#request.off('data', this.#onData);
    this.#request.off('error', this.#onError);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#limits.maxBytes) this.#break(this.#limits.tooLarge());
  };

  readonly #onError = (error: Error): void => {
    if (error instanceof ApiError) this.#break(error);
  };

  #break(error: ApiError): void {
    this.#broken.reject(error);
    for (const listener of this.#listeners) listener(error);
  }
}

/**
 * Takes the rest of a body off the wire and drops it, for a while: a connection that is closed upon unread bytes is
 * reset, and its sender would not get to read the answer.
 */
export function dropRest(request: IncomingMessage): void {
  request.unpipe();
  if (request.readableEnded || request.destroyed) return;
  const { socket } = request;
  const timer = setTimer(() => socket.destroy(), DROP_TIMEOUT_MS);
  const stop = () => timer.cancel();
  request.once('end', stop).once('close', stop);
  request.on('error', () => undefined);
  request.resume();
}
