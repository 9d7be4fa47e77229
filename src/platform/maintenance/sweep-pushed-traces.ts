/** Removes traces that were pushed, some time after their last span. What they used stays in the usage. */
import type { Database } from '../../kernel/db/database.ts';

/** Traces a statement: one has up to ten thousand spans. */
const BATCH_SIZE = 20;

export async function sweepPushedTraces(db: Database, signal: AbortSignal): Promise<void> {
  for (let removed = BATCH_SIZE; removed === BATCH_SIZE && !signal.aborted; ) {
    // The rows of the traces are held, as whoever pushes holds them: no span comes in between.
    const { rowCount } = await db.query({
      text: `
        with old as (
          select project_id, id from external_traces where updated_at < now() - interval '30 days'
          order by updated_at limit ${BATCH_SIZE} for update skip locked
        ), spans as (
          delete from external_spans s using old where s.project_id = old.project_id and s.trace_id = old.id
        )
        delete from external_traces t using old where t.project_id = old.project_id and t.id = old.id`,
      values: [],
    });
    removed = rowCount;
  }
}
