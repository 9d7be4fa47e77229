/** One child process, started, then asked and answered, with caps on what an answer may cost. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { elapsedMs, setTicker, setTimer, type Timer } from '../clock/timers.ts';
import {
  ChildAnswerTooLargeError,
  ChildCrashedError,
  type ChildEndedError,
  ChildOutOfMemoryError,
  ChildOutOfProcessorTimeError,
  ChildTimedOutError,
} from './child-errors.ts';
import { encodeFrame, FrameReader } from './frames.ts';
import type { FromChildFrame, ToChildFrame } from './protocol.ts';
import { readProcessorMs, readResidentBytes, type SpawnOptions, spawnChild } from './spawn-child.ts';
import type { ChildHandle } from './spawner.ts';
import type { ProcessEnd } from './start-process.ts';

export interface ChildOptions extends SpawnOptions {
  /** For logs and errors: `document reader`. */
  readonly name: string;
  /** Of all its memory, in the heap and outside of it. Held on Linux; elsewhere the limit of the heap alone is. */
  readonly residentBytes: number;
  /** How long its program may take to load. Default 60,000. */
  readonly startMs?: number;
}

/** How often a child at work is measured. It may exceed its limits by what it takes in between. */
const MEASURE_INTERVAL_MS = 50;
const START_MS = 60_000;
const OUT_OF_MEMORY = /FATAL ERROR: .*(?:out of memory|invalid table size|invalid array length)/i;

export class Child<ToChild, FromChild> {
  readonly #options: ChildOptions;
  readonly #process: ChildHandle;
  /** From its start on, and before it is ready. */
  #channel: Socket | undefined;
  readonly #gone = new AbortController();
  readonly #exited = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #waiting = new Map<number, PromiseWithResolvers<FromChild>>();
  #nextId = 1;
  #measuring: Timer | undefined;
  #measuredMs = 0;
  /** Of `processorMs`: what was allowed, and the value at which that is used up. */
  #processor = { allowedMs: Number.POSITIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY };

  /** Starts it. It is asked once `ready` has resolved. */
  constructor(options: ChildOptions) {
    this.#options = options;
    this.#ready.promise.catch(() => undefined);
    this.#process = spawnChild(options, {
      started: (channel) => this.#listen(channel),
      ended: (end) => void this.#noteEnd(end),
    });
    this.#process.hold(true);
  }

  /** Aborts when the child ends, for the reason that it ended for. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Its present resident memory; 0 where it is not known. */
  get residentBytes(): number {
    const { pid } = this.#process;
    return pid === undefined || this.gone.aborted ? 0 : (readResidentBytes(pid) ?? 0);
  }

  /** Processor time of all its threads since its start; 0 where it is not known. */
  get processorMs(): number {
    const { pid } = this.#process;
    return pid === undefined || this.gone.aborted ? 0 : (readProcessorMs(pid) ?? 0);
  }

  /**
   * Ends it with ChildOutOfProcessorTimeError if it uses more than `allowedMs` beyond `sinceMs`, a value of `processorMs`.
   * Unlike a time of day this does not depend on what else the machine does. Held on Linux.
   */
  allowProcessorTime(allowedMs: number, sinceMs: number): void {
    this.#processor = { allowedMs, untilMs: sinceMs + allowedMs };
  }

  /** Resolves when its program is loaded. Throws what kept it from starting. */
  async ready(): Promise<void> {
    const { name, startMs = START_MS } = this.#options;
    const timeout = setTimer(() => void this.end(new ChildTimedOutError(name, startMs)), startMs);
    try {
      await this.#ready.promise;
    } catch (error) {
      throw new Error(`the child process of ${name} cannot be started`, { cause: error });
    } finally {
      timeout.cancel();
      // An idle child is no reason for this process to live on; one that is asked is, see `ask`.
      if (this.#waiting.size === 0) this.#hold(false);
    }
  }

  /**
   * Sends a message and waits for its answer. Further messages may be sent meanwhile. Throws a ChildEndedError, or the
   * reason of `end` when that is called meanwhile; the child is gone then.
   */
  async ask(message: ToChild, { timeoutMs }: { readonly timeoutMs: number }): Promise<FromChild> {
    this.gone.throwIfAborted();
    const id = this.#nextId++;
    const waiting = Promise.withResolvers<FromChild>();
    const late = () => void this.end(new ChildTimedOutError(this.#options.name, timeoutMs));
    const timeout = Number.isFinite(timeoutMs) ? setTimer(late, Math.max(0, timeoutMs)) : undefined;
    const idle = this.#waiting.size === 0;
    this.#waiting.set(id, waiting);
    // From here on its end, which being measured may bring about, is this question's too.
    if (idle) this.#hold(true);
    try {
      this.#send({ id, message });
      return await waiting.promise;
    } finally {
      timeout?.cancel();
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#hold(false);
    }
  }

  /** Kills it, in the middle of its work or not. Resolves when it has gone. The first reason given is the one. */
  async end(reason: unknown): Promise<void> {
    this.#settle(reason);
    // Who waits for the end must live to see it.
    this.#hold(true);
    this.#process.kill();
    await this.#exited.promise;
  }

  #listen(channel: Socket): void {
    this.#channel = channel;
    const reader = new FrameReader(this.#options.answerBytes);
    channel.on('data', (piece: Buffer) => this.#receive(reader, piece));
    // Writing to a child that has gone: why it went comes with its end.
    channel.on('error', () => undefined);
  }

  async #noteEnd(end: ProcessEnd): Promise<void> {
    // There may still be something to read of what it said last.
    if (this.#channel?.closed === false) await once(this.#channel, 'close').catch(() => undefined);
    this.#settle(this.#explain(end));
    this.#exited.resolve();
  }

  #receive(reader: FrameReader, piece: Buffer): void {
    if (this.gone.aborted) return;
    try {
      for (const frame of reader.push(piece)) this.#take(frame as FromChildFrame);
    } catch {
      // The frame is too large, or no frame at all.
      this.#refuseAnswer();
    }
  }

  #take(frame: FromChildFrame): void {
    if (frame.kind === 'ready') this.#ready.resolve();
    else if (frame.kind === 'answer') this.#waiting.get(frame.id)?.resolve(frame.answer as FromChild);
    else this.#refuseAnswer();
  }

  #refuseAnswer(): void {
    void this.end(new ChildAnswerTooLargeError(this.#options.name, this.#options.answerBytes));
  }

  #send(frame: ToChildFrame): void {
    const blocks = encodeFrame(frame, Number.MAX_SAFE_INTEGER);
    this.#channel?.cork();
    for (const block of blocks) this.#channel?.write(block);
    this.#channel?.uncork();
  }

  /** While it is at work, or being ended, it keeps this process alive; at work it is measured. */
  #hold(works: boolean): void {
    if (!works && this.gone.aborted) return;
    this.#process.hold(works);
    if (works) this.#channel?.ref();
    else this.#channel?.unref();
    this.#measuring?.cancel();
    this.#measuring =
      works && !this.gone.aborted ? setTicker(() => void this.#measure(), MEASURE_INTERVAL_MS) : undefined;
    // Many short questions are work, too.
    if (works && elapsedMs() - this.#measuredMs > MEASURE_INTERVAL_MS) void this.#measure();
  }

  async #measure(): Promise<void> {
    const { name, residentBytes } = this.#options;
    this.#measuredMs = elapsedMs();
    const { allowedMs, untilMs } = this.#processor;
    if (this.processorMs > untilMs) {
      await this.end(new ChildOutOfProcessorTimeError(name, allowedMs));
      return;
    }
    if (this.residentBytes <= residentBytes) return;
    await this.end(new ChildOutOfMemoryError(name, 'resident', residentBytes));
  }

  #explain({ code, signal, output }: ProcessEnd): ChildEndedError {
    const { name, heapBytes } = this.#options;
    if (OUT_OF_MEMORY.test(output)) return new ChildOutOfMemoryError(name, 'heap', heapBytes);
    return new ChildCrashedError(name, code, signal, output.trim());
  }

  #settle(reason: unknown): void {
    if (this.gone.aborted) return;
    this.#gone.abort(reason);
    this.#measuring?.cancel();
    this.#ready.reject(reason);
    for (const { reject } of this.#waiting.values()) reject(reason);
  }
}
