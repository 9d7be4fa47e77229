/**
 * `builtin/embed` as the rest of the server sees it: a child process that is started by the first request, ended when it
 * has had nothing to do for a while (it holds some 300 MB), and replaced when it dies.
 */
import { Child } from '../../../kernel/child-process/child.ts';
import { exposeChildren } from '../../../kernel/child-process/child-metrics.ts';
import { setTicker, setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Metrics } from '../../../kernel/metrics/metrics.ts';
import { BUILTIN_EMBED_MODEL } from '../../models/index.ts';
import type { EmbedReply, EmbedRequest } from './embed-program.ts';
import type { EmbedResult } from './embedder.ts';
import { BUILTIN_DIMENSIONS } from './sentence-encoder.ts';

export interface BuiltinLimits {
  /** After the last request. */
  readonly idleMs: number;
  /** Requests under way, of one project and of all: beyond, they are refused rather than kept waiting for minutes. */
  readonly requestsPerProject: number;
  readonly requests: number;
  /** Characters under way, which the child holds in memory. A single request may exceed them when it is alone. */
  readonly characters: number;
  /** Without a sign of life: a pass takes a fraction of a second, so that a child that gives none for so long is stuck. */
  readonly stallMs: number;
  /** How often a child at work is asked for one. */
  readonly pingIntervalMs: number;
}

export const DEFAULT_BUILTIN_LIMITS: BuiltinLimits = {
  idleMs: 5 * 60_000,
  requestsPerProject: 32,
  requests: 256,
  characters: 16_000_000,
  stallMs: 60_000,
  pingIntervalMs: 10_000,
};

/** Seconds after which a caller that was refused may find room. */
const OVERLOADED_RETRY_SECONDS = 5;
/** A request whose child died is given one more: it may not be the one that killed it. */
const MAX_DEATHS = 2;

export interface BuiltinEmbedder {
  /**
   * Throws `embedding_unavailable` when the model does not run, `service_overloaded` when too much is waiting for it, or
   * the signal's reason.
   */
  embed(project: string, texts: readonly string[], signal?: AbortSignal): Promise<EmbedResult>;
  close(): Promise<void>;
}

interface Pending {
  readonly id: number;
  readonly project: string;
  readonly texts: readonly string[];
  readonly characters: number;
  readonly resolve: (result: EmbedResult) => void;
  readonly reject: (reason: unknown) => void;
  deaths: number;
}

const MEBIBYTE = 1_048_576;
/** Loading the model takes 200 MiB; the rest is for the texts that are under way. */
const HEAP_BYTES = 1_024 * MEBIBYTE;
const RESIDENT_BYTES = 1_536 * MEBIBYTE;
/** Vectors of 30,000 texts. */
const ANSWER_BYTES = 64 * MEBIBYTE;

export type EmbedChild = Child<EmbedRequest, EmbedReply>;

export function startEmbedChild(program = new URL('./embed-program.ts', import.meta.url)): EmbedChild {
  return new Child({
    name: BUILTIN_EMBED_MODEL,
    program,
    heapBytes: HEAP_BYTES,
    residentBytes: RESIDENT_BYTES,
    answerBytes: ANSWER_BYTES,
  });
}

/** `metrics`: where its child is counted among the others. */
export function createBuiltinEmbedder(
  limits: BuiltinLimits = DEFAULT_BUILTIN_LIMITS,
  startChild: () => EmbedChild = startEmbedChild,
  metrics?: Metrics,
): BuiltinEmbedder {
  return new ChildEmbedder(limits, startChild, metrics);
}

class ChildEmbedder implements BuiltinEmbedder {
  readonly #limits: BuiltinLimits;
  readonly #startChild: () => EmbedChild;
  readonly #pending = new Map<number, Pending>();
  #child: EmbedChild | undefined;
  #idleTimer: Timer | undefined;
  #pingTimer: Timer | undefined;
  #nextId = 1;
  #characters = 0;
  #closed = false;
  readonly #countEnd: (reason: unknown) => void;

  constructor(limits: BuiltinLimits, startChild: () => EmbedChild, metrics: Metrics | undefined) {
    this.#limits = limits;
    this.#startChild = startChild;
    const list = () => (this.#child === undefined ? [] : [this.#child]);
    this.#countEnd = metrics === undefined ? () => undefined : exposeChildren(metrics, BUILTIN_EMBED_MODEL, list);
  }

  async embed(project: string, texts: readonly string[], signal?: AbortSignal): Promise<EmbedResult> {
    signal?.throwIfAborted();
    if (texts.length === 0) return { vectors: [], tokens: 0 };
    if (this.#closed) throw makeUnavailable('The server is stopping. Repeat the request shortly.');
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    this.#checkRoom(project, characters);
    const { promise, resolve, reject } = Promise.withResolvers<EmbedResult>();
    const pending = { id: this.#nextId++, project, texts, characters, resolve, reject, deaths: 0 };
    const onAbort = () => this.#cancel(pending, signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#pending.set(pending.id, pending);
    this.#characters += characters;
    try {
      this.#send(pending);
      return await promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#settle(pending);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#idleTimer?.cancel();
    this.#pingTimer?.cancel();
    const child = this.#child;
    this.#child = undefined;
    for (const { reject } of this.#pending.values()) {
      reject(makeUnavailable('The server is stopping. Repeat the request shortly.'));
    }
    await child?.end(new Error('the server is stopping'));
  }

  #checkRoom(project: string, characters: number): void {
    const { requests, requestsPerProject, characters: most } = this.#limits;
    let own = 0;
    for (const each of this.#pending.values()) if (each.project === project) own += 1;
    const full = this.#pending.size >= requests || own >= requestsPerProject;
    if (full || (this.#pending.size > 0 && this.#characters + characters > most)) {
      throw new ApiError('service_overloaded', {
        message: `Too many texts are waiting for ${BUILTIN_EMBED_MODEL}. Repeat the request in ${OVERLOADED_RETRY_SECONDS} seconds, or use a provider's model.`,
        retryAfterSeconds: OVERLOADED_RETRY_SECONDS,
      });
    }
  }

  #send(pending: Pending): void {
    this.#idleTimer?.cancel();
    this.#pingTimer ??= setTicker(() => this.#ping(), this.#limits.pingIntervalMs);
    this.#child ??= this.#start();
    const { id, project, texts } = pending;
    // What rejects it is the child's end, and #bury sees to that.
    this.#ask(this.#child, { type: 'embed', id, project, texts }, Number.POSITIVE_INFINITY).then(
      (reply) => this.#receive(pending, reply),
      () => undefined,
    );
  }

  async #ask(child: EmbedChild, request: EmbedRequest, timeoutMs: number): Promise<EmbedReply> {
    await child.ready();
    return child.ask(request, { timeoutMs });
  }

  #ping(): void {
    if (this.#child !== undefined)
      this.#ask(this.#child, { type: 'ping' }, this.#limits.stallMs).catch(() => undefined);
  }

  #start(): EmbedChild {
    const child = this.#startChild();
    child.gone.addEventListener(
      'abort',
      () => {
        this.#countEnd(child.gone.reason);
        // One that was ended from here has been forgotten before.
        if (this.#child === child) this.#bury(child.gone.reason);
      },
      { once: true },
    );
    return child;
  }

  #receive(pending: Pending, { vectors, tokens }: EmbedReply): void {
    const rows = pending.texts.map((_, index) =>
      vectors.subarray(index * BUILTIN_DIMENSIONS, (index + 1) * BUILTIN_DIMENSIONS),
    );
    pending.resolve({ vectors: rows, tokens });
  }

  #cancel(pending: Pending, reason: unknown): void {
    pending.reject(reason);
    if (this.#child === undefined || !this.#pending.has(pending.id)) return;
    this.#ask(this.#child, { type: 'cancel', id: pending.id }, Number.POSITIVE_INFINITY).catch(() => undefined);
  }

  #settle(pending: Pending): void {
    if (!this.#pending.delete(pending.id)) return;
    this.#characters -= pending.characters;
    if (this.#pending.size > 0) return;
    this.#pingTimer?.cancel();
    this.#pingTimer = undefined;
    if (this.#child === undefined) return;
    // An idle child's timer does not keep the process alive.
    this.#idleTimer = setTimer(() => this.#retire(), this.#limits.idleMs);
  }

  #retire(): void {
    const child = this.#child;
    this.#child = undefined;
    void child?.end(new Error('the child process was idle'));
  }

  #bury(cause: unknown): void {
    this.#child = undefined;
    for (const pending of this.#pending.values()) {
      pending.deaths += 1;
      if (pending.deaths < MAX_DEATHS) this.#send(pending);
      else
        pending.reject(makeUnavailable(`${BUILTIN_EMBED_MODEL} stopped working. Repeat the request shortly.`, cause));
    }
  }
}

function makeUnavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('embedding_unavailable', { message, ...(cause === undefined ? {} : { cause }) });
}
