/** One worker thread, started, then asked and answered in turns, with caps on what an answer may cost. */
import { Worker } from 'node:worker_threads';
import { DocumentError } from './document.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

export interface WorkerCaps {
  /** Of the thread's JavaScript heap. */
  readonly heapBytes: number;
  /** Of what it holds outside of the heap: the bytes of files, unpacked or not. */
  readonly bufferBytes: number;
}

const MEBIBYTE = 1_048_576;
/** How often a thread at work is measured. It may exceed its cap by what it allocates in between. */
const MEASURE_INTERVAL_MS = 100;

export class WorkerThread {
  readonly #worker: Worker;
  readonly #caps: WorkerCaps;
  #waiting: PromiseWithResolvers<FromWorker> | undefined;
  readonly #gone = new AbortController();

  constructor(caps: WorkerCaps) {
    this.#caps = caps;
    this.#worker = new Worker(new URL('./read-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(caps.heapBytes / MEBIBYTE), maxYoungGenerationSizeMb: 32 },
      // Flags such as --input-type, which only fit the main program, would stop the thread.
      execArgv: [],
    });
    this.#worker.on('message', (message: FromWorker) => this.#settle((waiting) => waiting.resolve(message)));
    this.#worker.on('error', (error) => this.#end(explain(error)));
    this.#worker.on('exit', () => this.#end(new Error('the thread that read the document ended')));
  }

  /** Aborts when the thread ends, for the reason that it ended for. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Resolves when the thread can be asked. Throws what kept it from starting. */
  async start(): Promise<void> {
    const waiting = Promise.withResolvers<FromWorker>();
    this.#waiting = waiting;
    await waiting.promise;
    // An idle thread is no reason for the process to live on; a document that is being read is, see `ask`.
    this.#worker.unref();
  }

  /**
   * Sends a message and waits for the answer. Throws DocumentError when the thread needs more than `timeoutMs` or more
   * memory than it may have, the reason of `end` when that is called meanwhile, and any other error as it happened in
   * the thread. After an error the thread is gone.
   */
  async ask(message: ToWorker, timeoutMs: number): Promise<FromWorker> {
    if (timeoutMs <= 0) await this.end(tooSlow());
    this.gone.throwIfAborted();
    const waiting = Promise.withResolvers<FromWorker>();
    this.#waiting = waiting;
    const timeout = setTimeout(() => void this.end(tooSlow()), timeoutMs);
    const measuring = setInterval(() => void this.#measure(), MEASURE_INTERVAL_MS);
    this.#worker.ref();
    try {
      const bytes = message.kind === 'bytes' ? message.bytes : undefined;
      this.#worker.postMessage(message, bytes?.buffer instanceof ArrayBuffer ? [bytes.buffer] : []);
      return await waiting.promise;
    } finally {
      clearTimeout(timeout);
      clearInterval(measuring);
      this.#worker.unref();
    }
  }

  /** Ends the thread, in the middle of its work or not. Resolves when it has gone. */
  async end(reason: unknown): Promise<void> {
    this.#end(reason);
    await this.#worker.terminate();
  }

  /** The heap has its limit in V8; buffers lie outside of it, and a thread that never pauses is measured all the same. */
  async #measure(): Promise<void> {
    let bufferBytes: number;
    try {
      bufferBytes = (await this.#worker.getHeapStatistics()).external_memory;
    } catch {
      // The thread is on its way out; the event that follows says why.
      return;
    }
    if (bufferBytes > this.#caps.bufferBytes) await this.end(tooLarge());
  }

  #end(reason: unknown): void {
    // The first reason is the one: the others follow from it.
    this.#gone.abort(reason);
    this.#settle((waiting) => waiting.reject(this.gone.reason));
  }

  #settle(how: (waiting: PromiseWithResolvers<FromWorker>) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) how(waiting);
  }
}

function explain(error: unknown): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return tooLarge();
  return error;
}

function tooLarge(): DocumentError {
  return new DocumentError(
    'invalid_file',
    'Reading the file takes more memory than one document may have. It may be damaged; if not, split it up.',
  );
}

function tooSlow(): DocumentError {
  return new DocumentError(
    'invalid_file',
    'Reading the file takes longer than one document may. It may be damaged; if not, split it up.',
  );
}
