/** What a run of the job needs to know of its file, and how far earlier runs came. */
import type { Executor } from '../../../kernel/db/database.ts';
import type { IngestJob } from './dispatch-files.ts';

export interface IngestSource extends IngestJob {
  readonly smithId: string | null;
  readonly embeddingModel: string;
  readonly chunkTokens: number;
  readonly overlapTokens: number;
  /** Earlier runs that a passing fault ended. */
  readonly attempts: number;
  /** Earlier readings that ended abruptly. */
  readonly abruptEnds: number;
  /** Undefined when the file has been deleted. */
  readonly file: { readonly filename: string; readonly mediaType: string } | undefined;
}

/** Undefined when there is nothing left to do: settled, removed, added anew, or the store is deleted. */
export async function findIngestSource(db: Executor, job: IngestJob): Promise<IngestSource | undefined> {
  const { rows } = await db.query<{
    smith_id: string | null;
    embedding_model: string;
    chunk_tokens: number;
    overlap_tokens: number;
    attempts: number;
    abrupt_ends: number;
    filename: string | null;
    media_type: string | null;
  }>({
    text: `
      select s.smith_id, s.embedding_model, e.chunk_tokens, e.overlap_tokens, e.attempts, e.abrupt_ends,
        f.filename, f.media_type
      from vector_store_files e
      join vector_stores s on s.project_id = e.project_id and s.id = e.vector_store_id and s.deleted_at is null
      left join files f on f.project_id = e.project_id and f.id = e.file_id
      where e.project_id = $1 and e.vector_store_id = $2 and e.file_id = $3 and e.position = $4
        and e.status = 'in_progress'`,
    values: [job.projectId, job.vectorStoreId, job.fileId, job.position],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    ...job,
    smithId: row.smith_id,
    embeddingModel: row.embedding_model,
    chunkTokens: row.chunk_tokens,
    overlapTokens: row.overlap_tokens,
    attempts: row.attempts,
    abruptEnds: row.abrupt_ends,
    file:
      row.filename === null || row.media_type === null
        ? undefined
        : { filename: row.filename, mediaType: row.media_type },
  };
}

/** Remembers a run that a passing fault ended. */
export async function countAttempt(db: Executor, job: IngestJob): Promise<void> {
  await db.query({
    text: `update vector_store_files set attempts = attempts + 1, updated_at = now()
           where project_id = $1 and vector_store_id = $2 and file_id = $3 and position = $4 and status = 'in_progress'`,
    values: [job.projectId, job.vectorStoreId, job.fileId, job.position],
  });
}
