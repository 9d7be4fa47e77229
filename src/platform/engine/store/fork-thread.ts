import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { copyThread } from '../../threads/index.ts';
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
  const copied = await copyThread(tenantDb(db, run.project_id), {
    smithId: run.smith_id,
    from: run.thread_id,
    to: threadId,
    turns,
  });
  if (copied) return;
  throw new ApiError('replay_unsupported', {
    message:
      'The conversation around this run has been summarized or deleted since, so it cannot be asked again as it was.',
  });
}
