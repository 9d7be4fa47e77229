import type { TenantDb } from '../store/tenant-db.ts';

export interface ThreadCopy {
  readonly smithId: string;
  readonly from: string;
  readonly to: string;
  /** The last turn that is copied. */
  readonly turns: number;
}

/**
 * Makes `to` a copy of the thread as it stood after these turns. False where they have been summarized further: what was
 * said word by word is no longer there to be copied. Recall finds what was said in the thread where it was said, not in the copy.
 */
export async function copyThread(db: TenantDb, { smithId, from, to, turns }: ThreadCopy): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      with origin as (
        select summary, summary_turn from threads
        where project_id = $1 and smith_id = $2 and id = $3 and summary_turn <= $4
      ), copy as (
        insert into messages (project_id, smith_id, thread_id, turn, position, run_id, role, content, tokens)
        select m.project_id, m.smith_id, $5, m.turn, m.position, m.run_id, m.role, m.content, m.tokens
        from messages m, origin
        where m.project_id = $1 and m.smith_id = $2 and m.thread_id = $3 and m.turn <= $4
      )
      insert into threads (project_id, smith_id, id, turns, summary, summary_turn, recalled_turn)
      select $1, $2, $5, $4::int, summary, summary_turn, $4::int from origin`,
    values: [smithId, from, turns, to],
  });
  return rowCount > 0;
}
