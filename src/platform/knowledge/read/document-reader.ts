/**
 * Documents are read in a few worker threads, each one document at a time; further documents wait for a thread. A thread
 * starts when it is needed and ends when it has been idle for a while. One that fails, is cut short or exceeds its caps
 * is ended, and takes nothing with it but its document.
 */
import { type Chunking, checkChunking, type DocumentChunk, DocumentError, type DocumentSource } from './document.ts';
import type { ReadLimits, ToWorker } from './protocol.ts';
import { WorkerPool } from './worker-pool.ts';
import type { WorkerCaps } from './worker-thread.ts';

export interface DocumentReader {
  /**
   * The chunks in order, some at a time: the reader goes on as they are taken, and takes bytes from the source as it
   * needs them. It holds one of its threads from the first `next` to the end, so take all of one document before the
   * next, or leave it with `return` (as `break` does).
   *
   * Throws DocumentError for a file that gives no text, the signal's reason when it aborts, the source's own error when
   * that fails, and RangeError for sizes of chunks that cannot be. Chunks may have come before an error: keep none.
   * A source from which nothing has been taken is left to the caller; any other is closed.
   */
  chunks(source: DocumentSource, chunking: Chunking, signal: AbortSignal): AsyncIterable<readonly DocumentChunk[]>;
  /** Breaks off what is being read, ends the threads and starts no more. */
  close(): Promise<void>;
}

export interface DocumentReaderOptions extends Partial<ReadLimits>, Partial<WorkerCaps> {
  /** Documents read at once. */
  readonly workers?: number;
  /** Work on one document; waiting for the source and for the consumer does not count. */
  readonly workMs?: number;
  /** More work for each MiB that is read, so that a large file may take longer. */
  readonly workMsPerMebibyte?: number;
  /** After which an idle thread ends. */
  readonly idleMs?: number;
}

const MEBIBYTE = 1_048_576;

const DEFAULTS: Required<DocumentReaderOptions> = {
  workers: 2,
  streamedBytes: 512 * MEBIBYTE,
  wholeBytes: 128 * MEBIBYTE,
  heapBytes: 512 * MEBIBYTE,
  bufferBytes: 512 * MEBIBYTE,
  workMs: 120_000,
  workMsPerMebibyte: 1_000,
  idleMs: 30_000,
};

/** Blocks that go to a thread: fewer messages than small ones, less memory than large ones. */
const BLOCK_BYTES = 262_144;

export function createDocumentReader(options: DocumentReaderOptions = {}): DocumentReader {
  const settings = { ...DEFAULTS, ...options };
  const pool = new WorkerPool(settings);
  return {
    chunks: (source, chunking, signal) => readChunks(pool, settings, source, chunking, signal),
    close: () => pool.close(),
  };
}

async function* readChunks(
  pool: WorkerPool,
  settings: Required<DocumentReaderOptions>,
  source: DocumentSource,
  chunking: Chunking,
  signal: AbortSignal,
): AsyncGenerator<readonly DocumentChunk[]> {
  checkChunking(chunking);
  const thread = await pool.take(signal);
  const abort = (): void => pool.end(thread, signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const blocks = gatherBlocks(source.bytes, thread.gone);
  const { streamedBytes, wholeBytes } = settings;
  let workMs = settings.workMs;
  let finished = false;
  try {
    let message: ToWorker = {
      kind: 'open',
      filename: source.filename,
      mediaType: source.mediaType,
      chunking,
      limits: { streamedBytes, wholeBytes },
    };
    while (!finished) {
      const started = performance.now();
      const answer = await thread.ask(message, workMs);
      workMs -= performance.now() - started;
      switch (answer.kind) {
        case 'read': {
          const { value: bytes, done } = await blocks.next();
          workMs += ((bytes?.length ?? 0) / MEBIBYTE) * settings.workMsPerMebibyte;
          message = { kind: 'bytes', bytes: done ? undefined : bytes };
          break;
        }
        case 'chunks':
          yield answer.chunks;
          message = { kind: 'taken' };
          break;
        case 'done':
          finished = true;
          break;
        case 'failed':
          finished = true;
          throw new DocumentError(answer.code, answer.message);
      }
    }
  } finally {
    signal.removeEventListener('abort', abort);
    if (finished) pool.giveBack(thread);
    else pool.end(thread, new Error('the document is read no further'));
    await blocks.return(undefined);
  }
}

/** Blocks of one size, so that what is sent does not depend on the source's. Each has a buffer of its own. */
async function* gatherBlocks(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, undefined> {
  let block = new Uint8Array(BLOCK_BYTES);
  let filled = 0;
  for await (const piece of untilAborted(bytes, signal)) {
    for (let taken = 0; taken < piece.length; ) {
      const part = piece.subarray(taken, taken + BLOCK_BYTES - filled);
      block.set(part, filled);
      filled += part.length;
      taken += part.length;
      if (filled < BLOCK_BYTES) continue;
      yield block;
      block = new Uint8Array(BLOCK_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield block.slice(0, filled);
  return undefined;
}

/** What the source gives, for as long as the signal lets it: a source that hangs holds nothing up. */
async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const { value, done } = await Promise.race([iterator.next(), aborted.promise]);
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    // A source that hangs answers this when it can; its error would be that of a file which nobody reads any more.
    iterator.return?.().catch(() => undefined);
  }
}
