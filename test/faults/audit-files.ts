/** What must hold of every file in a vector store once nothing is under way. */
import type { Database } from '../../src/kernel/db/database.ts';

export interface IndexedFile {
  readonly file_id: string;
  readonly vector_store_id: string;
  readonly status: string;
  readonly error: string | null;
  readonly filename: string;
  readonly chunk_count: number;
  readonly positions: readonly number[];
  readonly texts: readonly string[];
}

export async function listIndexed(db: Database): Promise<readonly IndexedFile[]> {
  const { rows } = await db.query<IndexedFile>({
    text: `
      select f.file_id, f.vector_store_id, f.status, f.error_message as error, source.filename, f.chunk_count,
        coalesce(c.positions, '{}') as positions, coalesce(c.texts, '{}') as texts
      from vector_store_files f join files source on source.project_id = f.project_id and source.id = f.file_id
      cross join lateral (
        select array_agg(c.position order by c.position) as positions, array_agg(c.text order by c.position) as texts
        from vector_store_chunks c
        where c.project_id = f.project_id and c.vector_store_id = f.vector_store_id and c.file_id = f.file_id
      ) c`,
    values: [],
  });
  return rows;
}

/** What is wrong with them, a sentence each. `textOf`: what the file of this name holds. */
export async function auditFiles(db: Database, textOf: (filename: string) => string): Promise<readonly string[]> {
  const { rows: wrong } = await db.query<{ id: string }>({
    text: `
      select s.id from vector_stores s
      left join vector_store_files f on f.project_id = s.project_id and f.vector_store_id = s.id
      group by s.project_id, s.id
      having (s.files_in_progress, s.files_completed, s.files_failed, s.files_cancelled, s.usage_bytes) is distinct from (
        count(f.file_id) filter (where f.status = 'in_progress'), count(f.file_id) filter (where f.status = 'completed'),
        count(f.file_id) filter (where f.status = 'failed'), count(f.file_id) filter (where f.status = 'cancelled'),
        coalesce(sum(f.usage_bytes), 0))`,
    values: [],
  });
  const counters = wrong.map(({ id }) => `the counters of ${id} do not agree with its files`);
  return [...(await listIndexed(db)).flatMap((file) => auditFile(file, textOf(file.filename))), ...counters];
}

function auditFile({ file_id, chunk_count, error, positions, status, texts }: IndexedFile, text: string): string[] {
  if (status !== 'completed') return [`${file_id} is ${status}: ${error}`];
  const isNumbered = positions.length === chunk_count && positions.every((position, index) => position === index);
  const gap = findGap(texts, text);
  return [
    ...(isNumbered && chunk_count > 0 ? [] : [`${file_id} has ${chunk_count} chunks, at ${positions}`]),
    ...(gap === undefined ? [] : [`${file_id}: ${gap}`]),
  ];
}

/** The chunks follow each other in the text with nothing between them, from its first character to its last. */
function findGap(chunks: readonly string[], text: string): string | undefined {
  let end = 0;
  let from = 0;
  for (const chunk of chunks) {
    const start = text.indexOf(chunk.trim(), from);
    if (start < 0 || text.slice(end, start).trim() !== '') return `a chunk is missing before: ${chunk.slice(0, 60)}`;
    from = start + 1;
    end = Math.max(end, start + chunk.trim().length);
  }
  return text.slice(end).trim() === '' ? undefined : 'its end is missing';
}
