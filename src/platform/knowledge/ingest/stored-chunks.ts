/** The chunks of a file stored so far. A killed run leaves the first of them; the next run appends to these. */
import type { Database, Executor } from '../../../kernel/db/database.ts';
import type { DocumentChunk } from '../read/index.ts';
import type { IngestJob } from './dispatch-files.ts';

/** The file is not this job's to index any more: cancelled, removed, added anew, or its store is deleted. */
export class IngestionOverError extends Error {
  override readonly name = 'IngestionOverError';
}

export interface StoredBeginning {
  /** Chunks 0 to count - 1 are stored. */
  readonly count: number;
  /** The text of the last of them. */
  readonly lastText: string | undefined;
}

/** What is stored, where it is a beginning without a gap; else undefined. */
export async function findBeginning(db: Executor, job: IngestJob): Promise<StoredBeginning | undefined> {
  const { rows } = await db.query<{ count: number; last: number | null; text: string | null }>({
    text: `
      with stored as (
        select count(*) as count, max(position) as last from vector_store_chunks
        where project_id = $1 and vector_store_id = $2 and file_id = $3
      )
      select stored.count, stored.last, chunk.text from stored
      left join vector_store_chunks chunk on chunk.project_id = $1 and chunk.vector_store_id = $2
        and chunk.file_id = $3 and chunk.position = stored.last`,
    values: [job.projectId, job.vectorStoreId, job.fileId],
  });
  const { count = 0, last = null, text = null } = rows[0] ?? {};
  if (count !== (last ?? -1) + 1) return undefined;
  return { count, lastText: text ?? undefined };
}

/**
 * Stores chunks from the position `from` on, all or none of them; those that are there already stay. Throws
 * IngestionOverError.
 */
export async function appendChunks(
  db: Database,
  job: IngestJob,
  from: number,
  chunks: readonly DocumentChunk[],
  vectors: readonly Float32Array[],
): Promise<void> {
  await db.transaction(async (tx) => {
    await holdIngestion(tx, job);
    await tx.query({
      text: `
        insert into vector_store_chunks (project_id, vector_store_id, file_id, position, text, tokens, embedding)
        select $1, $2, $3, $4 + chunk.place - 1, chunk.text, chunk.tokens, chunk.embedding::halfvec
        from unnest($5::text[], $6::int[], $7::text[]) with ordinality as chunk (text, tokens, embedding, place)
        on conflict do nothing`,
      values: [
        job.projectId,
        job.vectorStoreId,
        job.fileId,
        from,
        chunks.map(({ text }) => text),
        chunks.map(({ tokens }) => tokens),
        vectors.map((vector) => `[${vector.join(',')}]`),
      ],
    });
  });
}

/** Removes what is stored, to begin again. Throws IngestionOverError. */
export async function discardChunks(db: Database, job: IngestJob): Promise<void> {
  await db.transaction(async (tx) => {
    await holdIngestion(tx, job);
    await tx.query({
      text: 'delete from vector_store_chunks where project_id = $1 and vector_store_id = $2 and file_id = $3',
      values: [job.projectId, job.vectorStoreId, job.fileId],
    });
  });
}

/** How many chunks there are, and their size: the bytes of their texts as UTF-8, and 2 for each number of their vectors. */
export async function measureChunks(db: Executor, job: IngestJob): Promise<{ count: number; bytes: number }> {
  const { rows } = await db.query<{ count: number; bytes: number }>({
    text: `
      select count(*) as count, coalesce(sum(octet_length(text) + 2 * vector_dims(embedding)), 0)::bigint as bytes
      from vector_store_chunks where project_id = $1 and vector_store_id = $2 and file_id = $3`,
    values: [job.projectId, job.vectorStoreId, job.fileId],
  });
  return rows[0] ?? { count: 0, bytes: 0 };
}

/**
 * Locks the file's row while chunks are written: a cancel or removal waits, and then removes these chunks as well. The
 * time shows that the job is alive.
 */
async function holdIngestion(tx: Executor, job: IngestJob): Promise<void> {
  const { rowCount } = await tx.query({
    text: `
      update vector_store_files set updated_at = now()
      where project_id = $1 and vector_store_id = $2 and file_id = $3 and position = $4 and status = 'in_progress'
        and exists (select from vector_stores s where s.project_id = $1 and s.id = $2 and s.deleted_at is null)`,
    values: [job.projectId, job.vectorStoreId, job.fileId, job.position],
  });
  if (rowCount === 0) throw new IngestionOverError('the file is not being indexed any more');
}
