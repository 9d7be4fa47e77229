import type { Executor } from '../../../kernel/db/database.ts';
import type { FileAttributes } from '../../tables.ts';
import type { RankedChunk } from './rank-request.ts';

export interface HitRow {
  readonly vector_store_id: string;
  readonly file_id: string;
  readonly position: number;
  readonly filename: string;
  readonly attributes: FileAttributes | null;
  readonly text: string;
}

/** What the chunks say and where they are from, in the order given. One that was deleted meanwhile is left out. */
export async function readHits(
  executor: Executor,
  projectId: string,
  chunks: readonly RankedChunk[],
): Promise<HitRow[]> {
  if (chunks.length === 0) return [];
  const { rows } = await executor.query<HitRow>({
    text: `select c.vector_store_id, c.file_id, c.position, files.filename, f.attributes, c.text
      from unnest($2::text[], $3::text[], $4::int[]) with ordinality h (vector_store_id, file_id, position, n)
      join vector_store_chunks c on c.project_id = $1 and c.vector_store_id = h.vector_store_id
        and c.file_id = h.file_id and c.position = h.position
      join vector_store_files f on f.project_id = $1 and f.vector_store_id = h.vector_store_id and f.file_id = h.file_id
      join files on files.project_id = $1 and files.id = h.file_id
        and (files.expires_at is null or files.expires_at > now())
      order by h.n`,
    values: [
      projectId,
      chunks.map((chunk) => chunk.vector_store_id),
      chunks.map((chunk) => chunk.file_id),
      chunks.map((chunk) => chunk.position),
    ],
  });
  return rows;
}
