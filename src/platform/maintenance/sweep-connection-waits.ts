/** Removes what runs have left behind that ended while they waited for an account. */
import type { Database } from '../../kernel/db/database.ts';

const BATCH_SIZE = 1_000;

export async function sweepConnectionWaits(db: Database, signal: AbortSignal): Promise<void> {
  for (let removed = BATCH_SIZE; removed === BATCH_SIZE && !signal.aborted; ) {
    const { rowCount } = await db.query({
      text: `
        delete from connection_waits where (project_id, run_id, call_id) in (
          select w.project_id, w.run_id, w.call_id
          from connection_waits w join runs r on r.project_id = w.project_id and r.id = w.run_id
          where r.status in ('completed', 'failed', 'cancelled') limit ${BATCH_SIZE})`,
      values: [],
    });
    removed = rowCount;
  }
}
