import type { TenantDb } from '../store/tenant-db.ts';
import type { ThreadOf } from './append-messages.ts';

/** Messages a statement, for they may be large. */
const BATCH_SIZE = 200;

/** Deletes what no turn that is under way or paused still reads. Stops between two statements once `signal` fires. */
export async function deleteMessages(db: TenantDb, { id, smith_id }: ThreadOf, signal: AbortSignal): Promise<void> {
  for (let removed = BATCH_SIZE; removed === BATCH_SIZE && !signal.aborted; ) {
    ({ rowCount: removed } = await db.raw({
      text: `
        delete from messages where project_id = $1 and smith_id = $2 and thread_id = $3 and (turn, position) in (
          select m.turn, m.position from messages m
          where m.project_id = $1 and m.smith_id = $2 and m.thread_id = $3 and not exists (
            select from runs r
            where r.project_id = $1 and r.id = m.run_id and r.status in ('in_progress', 'paused')
          )
          limit ${BATCH_SIZE})`,
      values: [smith_id, id],
    }));
  }
}
