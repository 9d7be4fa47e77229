import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { RunRow } from './run-row.ts';

/**
 * Makes `threadId` a copy of the run's thread as it stood before the run, or after it. Throws `replay_unsupported` once
 * that part of the conversation has been summarized: what was said word by word is no longer the thread's to replay.
 */
export async function forkThread(
  db: Executor,
  run: Pick<RunRow, 'project_id' | 'smith_id' | 'thread_id' | 'turn'>,
  threadId: string,
  at: 'before' | 'after' = 'before',
): Promise<void> {
  const turns = at === 'before' ? run.turn - 1 : run.turn;
  const { rowCount } = await db.query({
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
      insert into threads (project_id, smith_id, id, turns, summary, summary_turn)
      select $1, $2, $5, $4::int, summary, summary_turn from origin`,
    values: [run.project_id, run.smith_id, run.thread_id, turns, threadId],
  });
  if (rowCount > 0) return;
  throw new ApiError('replay_unsupported', { message: 'The conversation around this run has been summarized since.' });
}
