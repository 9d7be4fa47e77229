/**
 * One run of the job of one file: its bytes are read as chunks, the chunks get their vectors and are stored some at a
 * time, and in the end the file's status and the store's counters change together. A run that dies leaves the first of
 * the chunks, which no search shows; the next run reads the file again and appends to them.
 */

import { BlobNotFoundError } from '../../../kernel/blobs/blobs.ts';
import { ChildCrashedError } from '../../../kernel/child-process/child-errors.ts';
import type { Job } from '../../../kernel/jobs/job.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { TenantDatabase, type TenantDb } from '../../store/tenant-db.ts';
import type { Embedder } from '../embed/index.ts';
import type { DocumentChunk } from '../read/index.ts';
import type { IngestionDependencies } from './dependencies.ts';
import { dispatchFiles, type IngestJob } from './dispatch-files.ts';
import { completeFile, failFile, holdStore, type IngestFailure } from './file-status.ts';
import {
  CUT_OFF,
  ENDED_ABRUPTLY,
  FILE_DELETED,
  judgeFault,
  MAX_ABRUPT_ENDS,
  MAX_RUNS,
  NO_TEXT,
  storageFull,
} from './ingest-failure.ts';
import { countAttempt, findIngestSource, type IngestSource } from './ingest-source.ts';
import type { IngestionMetrics } from './ingestion-metrics.ts';
import { ReadingMark } from './reading-mark.ts';
import {
  appendChunks,
  discardChunks,
  findBeginning,
  IngestionOverError,
  measureChunks,
  type StoredBeginning,
} from './stored-chunks.ts';

/** Chunks that get their vectors by one call and are stored by one transaction. */
const BATCH = 32;

type Outcome = { readonly chunkCount: number; readonly usageBytes: number } | { readonly failure: IngestFailure };

/** Rejects to have the job run again. */
export async function ingestFile(
  deps: IngestionDependencies,
  metrics: IngestionMetrics,
  jobs: Jobs,
  job: Job<IngestJob>,
): Promise<void> {
  const source = await findIngestSource(deps.db, job.data);
  if (source !== undefined) {
    const startedMs = performance.now();
    const outcome = await findOutcome(deps, metrics, job, source);
    if (outcome !== undefined && (await settle(deps, job.data, outcome))) {
      metrics.settled('failure' in outcome ? outcome.failure.code : undefined, performance.now() - startedMs);
    }
  }
  // A run that dies before this line runs again, finds nothing left to do, and comes here.
  await new TenantDatabase(deps.db, job.data.projectId).transaction((tx) => dispatchFiles(tx, jobs));
}

/** Undefined when the file is not this job's any more. Rejects for a fault that may pass. */
async function findOutcome(
  deps: IngestionDependencies,
  metrics: IngestionMetrics,
  job: Job<IngestJob>,
  source: IngestSource,
): Promise<Outcome | undefined> {
  if (source.file === undefined) return { failure: FILE_DELETED };
  if (source.abruptEnds >= MAX_ABRUPT_ENDS) return { failure: ENDED_ABRUPTLY };
  if (job.attempt > MAX_RUNS) return { failure: CUT_OFF };
  if (job.abruptEnds >= MAX_ABRUPT_ENDS) {
    // The last time it was a suspect, counted while it was read. The first time it was not yet: its steps were too short.
    if (source.abruptEnds > 0) return { failure: ENDED_ABRUPTLY };
    // Its processes ended, but not while the file was read: that is not held against it.
    await job.keepProgress();
  }
  try {
    return await indexFile(deps, metrics, job, source, source.file);
  } catch (error) {
    if (error instanceof IngestionOverError) return undefined;
    if (error instanceof StorageFullError) return { failure: storageFull(deps.projectStorageBytes) };
    if (error instanceof ReadingCrash) {
      deps.logger.warn(
        { err: error.cause, ...job.data, abruptEnds: error.abruptEnds },
        'reading a file ended abruptly',
      );
      if (error.abruptEnds >= MAX_ABRUPT_ENDS) return { failure: ENDED_ABRUPTLY };
      throw error;
    }
    // Stopped from outside, through no fault of the file: the next run resumes here.
    if (job.signal.aborted) throw error;
    const failure = judgeFault(error, source.attempts + 1);
    const { projectId, vectorStoreId, fileId } = source;
    deps.logger.warn({ err: error, projectId, vectorStoreId, fileId, failed: failure?.code }, 'indexing a file failed');
    if (failure !== undefined) return { failure };
    await countAttempt(deps.db, job.data);
    throw error;
  }
}

async function indexFile(
  deps: IngestionDependencies,
  metrics: IngestionMetrics,
  job: Job<IngestJob>,
  source: IngestSource,
  file: NonNullable<IngestSource['file']>,
): Promise<Outcome> {
  const embedder = await deps.embedders.open(source.projectId, source.embeddingModel, { smithId: source.smithId });
  let beginning = await findBeginning(deps.db, source);
  if (beginning === undefined) {
    await discardChunks(deps.db, source);
    beginning = { count: 0, lastText: undefined };
  }
  let chunkCount = await readAndStore(deps, metrics, { job, source, file, embedder, beginning });
  if (chunkCount === undefined) {
    // The file is cut otherwise than when the beginning was stored, as after an upgrade in between.
    await discardChunks(deps.db, source);
    beginning = { count: 0, lastText: undefined };
    chunkCount = await readAndStore(deps, metrics, { job, source, file, embedder, beginning });
  }
  const stored = await measureChunks(deps.db, source);
  if (stored.count !== chunkCount) throw new Error(`${stored.count} chunks are stored, and the file has ${chunkCount}`);
  return chunkCount === 0 ? { failure: NO_TEXT } : { chunkCount, usageBytes: stored.bytes };
}

interface Reading {
  readonly job: Job<IngestJob>;
  readonly source: IngestSource;
  readonly file: NonNullable<IngestSource['file']>;
  readonly embedder: Embedder;
  readonly beginning: StoredBeginning;
}

/** The child that read the file crashed; `cause` says how. */
class ReadingCrash extends Error {
  override readonly name = 'ReadingCrash';
  readonly abruptEnds: number;

  constructor(abruptEnds: number, cause: ChildCrashedError) {
    super('the process that read the file crashed', { cause });
    this.abruptEnds = abruptEnds;
  }
}

/** What the file's chunks take is more than what the project has left. */
class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

/** What the project has left. What is indexed at the same time is counted when it is complete, and may pass the limit together. */
async function measureRoom({ db, projectStorageBytes }: IngestionDependencies, projectId: string): Promise<number> {
  const { rows } = await db.query<{ used_bytes: number }>({
    text: 'select used_bytes from project_storage where project_id = $1',
    values: [projectId],
  });
  return projectStorageBytes - (rows[0]?.used_bytes ?? 0);
}

/** How many chunks the file has; undefined when those that are stored are not its beginning. */
async function readAndStore(
  deps: IngestionDependencies,
  metrics: IngestionMetrics,
  { job, source, file, embedder, beginning }: Reading,
): Promise<number | undefined> {
  const { signal } = job;
  let position = 0;
  let waiting: DocumentChunk[] = [];
  let room = await measureRoom(deps, source.projectId);
  const store = async (): Promise<void> => {
    const chunks = waiting;
    waiting = [];
    const { vectors } = await embedder.embed(
      chunks.map(({ text }) => text),
      { signal },
    );
    room -= sizeOf(chunks, vectors);
    if (room < 0) throw new StorageFullError('the project has no room for the chunks');
    await appendChunks(deps.db, source, position - chunks.length, chunks, vectors);
    metrics.chunks(chunks.length);
    await job.keepProgress();
  };
  const mark = new ReadingMark(deps.db, source, job.abruptEnds + source.abruptEnds > 0);
  const { stream } = await openBlob(deps, source);
  try {
    for await (const some of readMarked(deps, { source, file, bytes: stream, signal }, mark)) {
      for (const chunk of some) {
        position += 1;
        if (position === beginning.count && chunk.text !== beginning.lastText) return undefined;
        if (position <= beginning.count) continue;
        waiting.push(chunk);
        if (waiting.length === BATCH) await store();
      }
      signal.throwIfAborted();
    }
  } finally {
    stream.destroy();
  }
  if (position < beginning.count) return undefined;
  if (waiting.length > 0) await store();
  return position;
}

/** As `measureChunks` has it of those that are stored. */
function sizeOf(chunks: readonly DocumentChunk[], vectors: readonly Float32Array[]): number {
  const texts = chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return vectors.reduce((sum, { length }) => sum + 2 * length, texts);
}

interface Bytes {
  readonly source: IngestSource;
  readonly file: NonNullable<IngestSource['file']>;
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** The chunks, each step of the reading marked. Throws ReadingCrash where the child crashed. */
async function* readMarked(
  { reader }: IngestionDependencies,
  { source, file, bytes, signal }: Bytes,
  mark: ReadingMark,
): AsyncGenerator<readonly DocumentChunk[]> {
  const { projectId, chunkTokens, overlapTokens } = source;
  const began = () => mark.arm();
  try {
    for await (const some of reader.chunks(
      projectId,
      { ...file, bytes, began },
      { chunkTokens, overlapTokens },
      signal,
    )) {
      await mark.disarm();
      yield some;
      await mark.arm();
    }
  } catch (error) {
    if (!(error instanceof ChildCrashedError) || signal.aborted) throw error;
    throw new ReadingCrash(await mark.crash(source.abruptEnds), error);
  } finally {
    await mark.end();
  }
}

async function openBlob({ blobs, db }: IngestionDependencies, source: IngestSource) {
  try {
    return await blobs.get(`${source.projectId}/${source.fileId}`);
  } catch (error) {
    if (!(error instanceof BlobNotFoundError)) throw error;
    const now = await findIngestSource(db, source);
    // Deleted between the two looks; the deletion has told the store, or the next run will.
    if (now?.file === undefined) throw new IngestionOverError('the file was deleted', { cause: error });
    throw error;
  }
}

/**
 * False when the file was cancelled or removed meanwhile: nothing changes then. Its deletion goes through the store's lock
 * as well; the look at the file is for one that was deleted while it was being added.
 */
async function settle({ db }: IngestionDependencies, job: IngestJob, outcome: Outcome): Promise<boolean> {
  return new TenantDatabase(db, job.projectId).transaction(async (tx) => {
    const store = await holdStore(tx, job.vectorStoreId);
    if (store === undefined) return false;
    if ('failure' in outcome) return failFile(tx, store, job, outcome.failure);
    return (await fileExists(tx, job.fileId))
      ? completeFile(tx, store, job, outcome)
      : failFile(tx, store, job, FILE_DELETED);
  });
}

async function fileExists(tx: TenantDb, fileId: string): Promise<boolean> {
  const { rowCount } = await tx.raw({
    text: 'select from files where project_id = $1 and id = $2',
    values: [fileId],
  });
  return rowCount > 0;
}
