/** Removes tombstones, 30 days after their objects: a walk that rests behind one for longer begins anew. */
import type { Database } from '../../kernel/db/database.ts';

/** Rows a statement: a batch must not hold locks for long. */
const BATCH_SIZE = 5_000;
const TABLES = ['tombstones', 'vector_store_file_tombstones'];

export async function sweepTombstones(db: Database, signal: AbortSignal): Promise<void> {
  for (const table of TABLES) {
    for (let removed = BATCH_SIZE; removed === BATCH_SIZE && !signal.aborted; ) {
      const { rowCount } = await db.query({
        text: `
          delete from ${table} where ctid in (
            select ctid from ${table} where removed_at < now() - interval '30 days'
            order by removed_at limit ${BATCH_SIZE})`,
        values: [],
      });
      removed = rowCount;
    }
  }
}
