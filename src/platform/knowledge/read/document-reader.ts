/**
 * Documents are read in a few child processes, each one document at a time; further documents wait for one, by turns of
 * projects. A child starts when it is needed and ends when it has been idle for a while. One that fails, is cut short or
 * exceeds its caps is killed, and takes nothing with it but its document.
 */
import type { Child } from '../../../kernel/child-process/child.ts';
import {
  ChildAnswerTooLargeError,
  ChildOutOfMemoryError,
  ChildOutOfProcessorTimeError,
  ChildTimedOutError,
} from '../../../kernel/child-process/child-errors.ts';
import { type ChildPool, type ChildPoolOptions, createChildPool } from '../../../kernel/child-process/child-pool.ts';
import { type Chunking, checkChunking, type DocumentChunk, DocumentError, type DocumentSource } from './document.ts';
import type { FromReader, ReadLimits, ToReader } from './protocol.ts';

export interface DocumentReader {
  /**
   * The chunks in order, some at a time: the reader goes on as they are taken, and takes bytes from the source as it
   * needs them. It holds one of its children from the first `next` to the end, so take all of one document before the
   * next, or leave it with `return` (as `break` does). Projects take turns, and none has all the children.
   *
   * Throws DocumentError for a file that gives no text or exceeds a cap, ChildCrashedError when the child crashed over it,
   * the signal's reason when it aborts, the source's own error when that fails, and RangeError for sizes of chunks that
   * cannot be. Chunks may have come before an error: keep none.
   * A source from which nothing has been taken is left to the caller; any other is closed.
   */
  chunks(
    project: string,
    source: DocumentSource,
    chunking: Chunking,
    signal: AbortSignal,
  ): AsyncIterable<readonly DocumentChunk[]>;
  /** Breaks off what is being read, ends the children and starts no more. */
  close(): Promise<void>;
}

export interface DocumentReaderOptions
  extends Partial<ReadLimits>,
    Partial<Pick<ChildPoolOptions, 'children' | 'heapBytes' | 'residentBytes' | 'idleMs' | 'givesWay'>>,
    Pick<ChildPoolOptions, 'logger' | 'metrics'> {
  /** Processor time for one document, more for each MiB that is read of it, and the most that comes of that. Held on Linux. */
  readonly processorMs?: number;
  readonly processorMsPerMebibyte?: number;
  readonly maxProcessorMs?: number;
  /**
   * So many times the processor time that is allowed may the work take by the clock; waiting for the source and for the
   * consumer does not count. Many times, so that a machine with no processor to spare fails no innocent document: it ends
   * what waits for ever.
   */
  readonly clockFactor?: number;
}

const MEBIBYTE = 1_048_576;

const DEFAULTS = {
  // One project can have all but one of them.
  children: 3,
  streamedBytes: 512 * MEBIBYTE,
  wholeBytes: 128 * MEBIBYTE,
  textCharacters: 1_000_000,
  textCharactersPerByte: 16,
  pdfPages: 20_000,
  heapBytes: 512 * MEBIBYTE,
  // The heap, as much again for the bytes of files, and the program itself.
  residentBytes: 1_152 * MEBIBYTE,
  // A PDF of nothing but text, well packed, has 1,200 pages in a MiB, which take 5 to 16 seconds.
  processorMs: 10_000,
  processorMsPerMebibyte: 20_000,
  maxProcessorMs: 900_000,
  clockFactor: 10,
  idleMs: 30_000,
  // What is read is waited for by nobody who would notice.
  givesWay: true,
} satisfies DocumentReaderOptions;

type Settings = { readonly [Name in keyof typeof DEFAULTS]: NonNullable<DocumentReaderOptions[Name]> };
type Reader = Child<ToReader, FromReader>;

/** Of one message: a batch of chunks has a quarter of a million characters and one chunk more. */
const ANSWER_BYTES = 8 * MEBIBYTE;
/** Blocks that go to a child: fewer messages than small ones, less memory than large ones. */
const BLOCK_BYTES = 262_144;

export function createDocumentReader(options: DocumentReaderOptions = {}): DocumentReader {
  const settings = { ...DEFAULTS, ...options };
  const pool = createChildPool<ToReader, FromReader>({
    ...settings,
    name: 'document reader',
    program: new URL('./read-program.ts', import.meta.url),
    answerBytes: ANSWER_BYTES,
  });
  return {
    chunks: (project, source, chunking, signal) => readChunks(pool, settings, project, source, chunking, signal),
    close: () => pool.close(),
  };
}

async function* readChunks(
  pool: ChildPool<ToReader, FromReader>,
  settings: Settings,
  project: string,
  source: DocumentSource,
  chunking: Chunking,
  signal: AbortSignal,
): AsyncGenerator<readonly DocumentChunk[]> {
  checkChunking(chunking);
  const child = await pool.take(project, signal);
  const abort = (): void => pool.end(child, signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const blocks = gatherBlocks(source.bytes, child.gone);
  const { streamedBytes, wholeBytes, textCharacters, textCharactersPerByte, pdfPages } = settings;
  const usedBeforeMs = child.processorMs;
  let processorMs = settings.processorMs;
  let workedMs = 0;
  let finished = false;
  try {
    await source.began?.();
    let message: ToReader = {
      kind: 'open',
      filename: source.filename,
      mediaType: source.mediaType,
      chunking,
      limits: { streamedBytes, wholeBytes, textCharacters, textCharactersPerByte, pdfPages },
    };
    while (!finished) {
      child.allowProcessorTime(processorMs, usedBeforeMs);
      const started = performance.now();
      const answer = await ask(child, message, processorMs * settings.clockFactor - workedMs, settings);
      workedMs += performance.now() - started;
      switch (answer.kind) {
        case 'read': {
          const { value: bytes, done } = await blocks.next();
          processorMs += ((bytes?.length ?? 0) / MEBIBYTE) * settings.processorMsPerMebibyte;
          processorMs = Math.min(processorMs, settings.maxProcessorMs);
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
    if (finished) pool.giveBack(child);
    else pool.end(child, new Error('the document is read no further'));
    await blocks.return(undefined);
  }
}

/** Throws DocumentError where the child was ended for what the document did to it. */
async function ask(child: Reader, message: ToReader, timeoutMs: number, settings: Settings): Promise<FromReader> {
  try {
    return await child.ask(message, { timeoutMs });
  } catch (error) {
    if (error instanceof ChildOutOfProcessorTimeError) throw tooMuchWork(settings, error);
    if (error instanceof ChildTimedOutError) throw tooSlow(settings, error);
    if (error instanceof ChildOutOfMemoryError) throw tooLarge(error);
    if (error instanceof ChildAnswerTooLargeError) {
      throw new DocumentError('invalid_file', 'The file is damaged: a part of its text has no end.', { cause: error });
    }
    throw error;
  }
}

function tooLarge(cause: ChildOutOfMemoryError): DocumentError {
  const limit = Math.floor(cause.limitBytes / MEBIBYTE);
  return new DocumentError(
    'invalid_file',
    `Reading the file takes more memory than one document may have (${limit} MiB). It may be damaged; if not, split it up.`,
    { cause },
  );
}

function tooMuchWork(settings: Settings, cause: Error): DocumentError {
  return new DocumentError(
    'invalid_file',
    `Reading the file takes more processor time than one document may have (${describeTime(settings)}). It may be ` +
      'damaged; if not, split it up.',
    { cause },
  );
}

function tooSlow(settings: Settings, cause: Error): DocumentError {
  return new DocumentError(
    'invalid_file',
    `Reading the file takes longer than ${settings.clockFactor} times the processor time that one document may have ` +
      `(${describeTime(settings)}). It may be damaged; if not, split it up.`,
    { cause },
  );
}

function describeTime({ processorMs, processorMsPerMebibyte, maxProcessorMs }: Settings): string {
  const seconds = [processorMs, processorMsPerMebibyte, maxProcessorMs].map((ms) => ms / 1_000);
  return `${seconds[0]} seconds, and ${seconds[1]} for each MiB, ${seconds[2]} at most`;
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
