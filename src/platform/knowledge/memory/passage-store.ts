/** Passages of what was said: which threads have any, the search among them, and their removal. */
import type { Database } from '../../../kernel/db/database.ts';
import { idPattern } from '../../../kernel/ids/ids.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { ThreadOf } from '../../threads/index.ts';
import type { MemoryOwner } from './owner.ts';

export interface Recollection {
  readonly threadId: string;
  readonly text: string;
  /** 0..1: the cosine of the angle between question and passage, 0 where they point apart. */
  readonly score: number;
}

/**
 * Whether what was said in `t`, a row of threads, may be recalled. A thread with the id of a conversation needs one that is
 * not deleted: the conversation's row goes in the end, and a turn that began before may bring the thread back.
 */
export const IS_RECALLED = `(t.id !~ '${idPattern('cnv')}' or exists (
        select from conversations c
        where c.project_id = t.project_id and c.smith_id = t.smith_id and c.id = t.id and c.deleted_at is null))`;

/** The passages that are nearest to the vector, best first. */
export async function searchPassages(
  db: Database,
  { projectId, smithId }: MemoryOwner,
  vector: Float32Array,
  limit: number,
): Promise<Recollection[]> {
  const { rows } = await db.query<{ thread_id: string; text: string; score: number }>({
    text: `
      select p.thread_id, p.text, greatest(0, 1 - (p.embedding <=> $3::vector)) as score
      from threads t
      join recall_passages p on p.project_id = $1 and p.smith_id = $2 and p.thread_id = t.id
      where t.project_id = $1 and t.smith_id = $2 and ${IS_RECALLED}
      order by p.embedding <=> $3::vector, p.thread_id, p.turn, p.position
      limit $4`,
    values: [projectId, smithId, `[${vector.join(',')}]`, limit],
  });
  return rows.map(({ thread_id, text, score }) => ({ threadId: thread_id, text, score: Number(score) }));
}

/**
 * Removes the passages of a thread, or of one turn of it. For good only where the transaction has deleted the thread, or
 * called `dropDerived` for the turn, before: passages that are being added until then are removed as well, and later ones
 * are made of what is left.
 */
export async function removePassages(db: TenantDb, { id, smith_id }: ThreadOf, turn?: number): Promise<void> {
  const passages = db.deleteFrom('recall_passages').where('smith_id', '=', smith_id).where('thread_id', '=', id);
  await (turn === undefined ? passages : passages.where('turn', '=', turn)).execute();
}
