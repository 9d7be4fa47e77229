/**
 * What a deleted conversation leaves behind goes in batches: its messages, then its thread, its row and what recall
 * knows of it. A turn that is under way or paused in it keeps what it still reads; the sweep comes back for that.
 */

import type { Database } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { removePassages } from '../../knowledge/memory/index.ts';
import { type TenantTransaction, tenantDb } from '../../store/tenant-db.ts';
import { deleteEmptyThreadSql, deleteMessages } from '../../threads/index.ts';

const PURGE = 'purge-conversation';
const SWEEP = 'sweep-deleted-conversations';
/** Conversations a sweep. */
const SWEPT = 1_000;

export interface DeletedConversation {
  readonly projectId: string;
  readonly conversationId: string;
}

/** Defines the jobs and their times. Call before `jobs.start`. */
export function defineConversationPurge(jobs: Jobs, { db }: { readonly db: Database }): void {
  jobs.define<DeletedConversation>(PURGE, ({ data, signal }) => purgeConversation(db, data, signal));
  jobs.define(SWEEP, ({ signal }) => sweepDeletedConversations(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP, '22 * * * *', {});
}

export async function enqueuePurge(jobs: Jobs, tx: TenantTransaction, conversationId: string): Promise<void> {
  const conversation: DeletedConversation = { projectId: tx.projectId, conversationId };
  await tx.enqueue(jobs, PURGE, conversation);
}

/** Purges the conversations that were deleted, the oldest first. */
export async function sweepDeletedConversations(db: Database, signal: AbortSignal): Promise<void> {
  const { rows } = await db.query<{ project_id: string; id: string }>({
    text: `select project_id, id from conversations where deleted_at is not null order by deleted_at limit ${SWEPT}`,
    values: [],
  });
  for (const { project_id, id } of rows) {
    await purgeConversation(db, { projectId: project_id, conversationId: id }, signal);
  }
}

/** Safe to repeat, and to run twice at once. */
async function purgeConversation(
  db: Database,
  { projectId, conversationId }: DeletedConversation,
  signal: AbortSignal,
): Promise<void> {
  const { rows } = await db.query<{ smith_id: string }>({
    text: 'select smith_id from conversations where project_id = $1 and id = $2 and deleted_at is not null',
    values: [projectId, conversationId],
  });
  const smithId = rows[0]?.smith_id;
  if (smithId === undefined) return;
  const thread = { id: conversationId, smith_id: smithId };
  await deleteMessages(tenantDb(db, projectId), thread, signal);
  if (signal.aborted) return;
  await db.transaction(async (tx) => {
    await tx.query({
      text: `
        with left_over as (
          select from messages where project_id = $1 and smith_id = $2 and thread_id = $3 limit 1
        ), thread as (
          ${deleteEmptyThreadSql({ project: '$1', smith: '$2', thread: '$3' }, 'left_over')}
        )
        delete from conversations where project_id = $1 and smith_id = $2 and id = $3 and not exists (select from left_over)`,
      values: [projectId, smithId, conversationId],
    });
    // Behind the deletion of the thread, which waits for whoever is adding passages.
    await removePassages(tenantDb(tx, projectId), thread);
  });
}
