/**
 * `builtin/embed` as the rest of the server sees it: a thread that is started by the first request, ended when it has
 * had nothing to do for a while (it holds some 250 MB), and replaced when it dies.
 */
import { Worker } from 'node:worker_threads';
import { ApiError } from '../../../kernel/http/errors.ts';
import { BUILTIN_EMBED_MODEL } from '../../models/index.ts';
import type { EmbedWorkerReply, EmbedWorkerRequest } from './embed-worker.ts';
import type { EmbedResult } from './embedder.ts';
import { BUILTIN_DIMENSIONS } from './sentence-encoder.ts';

export interface BuiltinLimits {
  /** After the last request. */
  readonly idleMs: number;
  /** Requests under way, of one project and of all: beyond, they are refused rather than kept waiting for minutes. */
  readonly requestsPerProject: number;
  readonly requests: number;
  /** Characters under way, which the thread holds in memory. A single request may exceed them when it is alone. */
  readonly characters: number;
}

export const DEFAULT_BUILTIN_LIMITS: BuiltinLimits = {
  idleMs: 5 * 60_000,
  requestsPerProject: 32,
  requests: 256,
  characters: 16_000_000,
};

/** Seconds after which a caller that was refused may find room. */
const OVERLOADED_RETRY_SECONDS = 5;
/** A request whose thread died is given one more: it may not be the one that killed it. */
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

export function startEmbedWorker(): Worker {
  return new Worker(new URL('./embed-worker.ts', import.meta.url), {
    // Flags such as --input-type, which only fit the main program, would stop the thread.
    execArgv: [],
    // Nothing of this server's settings is the model's business.
    env: {},
  });
}

export function createBuiltinEmbedder(
  limits: BuiltinLimits = DEFAULT_BUILTIN_LIMITS,
  startWorker: () => Worker = startEmbedWorker,
): BuiltinEmbedder {
  return new WorkerEmbedder(limits, startWorker);
}

class WorkerEmbedder implements BuiltinEmbedder {
  readonly #limits: BuiltinLimits;
  readonly #startWorker: () => Worker;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #nextId = 1;
  #characters = 0;
  #closed = false;

  constructor(limits: BuiltinLimits, startWorker: () => Worker) {
    this.#limits = limits;
    this.#startWorker = startWorker;
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
    clearTimeout(this.#idleTimer);
    const worker = this.#worker;
    this.#worker = undefined;
    for (const { reject } of this.#pending.values()) {
      reject(makeUnavailable('The server is stopping. Repeat the request shortly.'));
    }
    await worker?.terminate();
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

  #send({ id, project, texts }: Pending): void {
    clearTimeout(this.#idleTimer);
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#post({ type: 'embed', id, project, texts });
  }

  #post(request: EmbedWorkerRequest): void {
    this.#worker?.postMessage(request);
  }

  #start(): Worker {
    const worker = this.#startWorker();
    let cause: unknown;
    worker.on('message', (reply: EmbedWorkerReply) => this.#receive(reply));
    worker.on('error', (error) => {
      cause = error;
    });
    worker.once('exit', (code) => {
      // One that was ended from here has been forgotten before.
      if (this.#worker === worker) this.#bury(cause ?? new Error(`The embedding thread ended with code ${code}.`));
    });
    return worker;
  }

  #receive({ id, vectors, tokens }: EmbedWorkerReply): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    const rows = pending.texts.map((_, index) =>
      vectors.subarray(index * BUILTIN_DIMENSIONS, (index + 1) * BUILTIN_DIMENSIONS),
    );
    pending.resolve({ vectors: rows, tokens });
  }

  #cancel(pending: Pending, reason: unknown): void {
    pending.reject(reason);
    if (this.#pending.has(pending.id)) this.#post({ type: 'cancel', id: pending.id });
  }

  #settle(pending: Pending): void {
    if (!this.#pending.delete(pending.id)) return;
    this.#characters -= pending.characters;
    if (this.#pending.size > 0 || this.#worker === undefined) return;
    // Neither an idle thread nor its timer keeps the process alive.
    this.#worker.unref();
    this.#idleTimer = setTimeout(() => this.#retire(), this.#limits.idleMs);
    this.#idleTimer.unref();
  }

  #retire(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #bury(cause: unknown): void {
    this.#worker = undefined;
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
