/**
 * What PostgreSQL's background processes do and PGlite, which has none, does not: checkpoints, without which the WAL grows
 * for ever and a restart after a crash replays all of it; and vacuum with statistics, without which tables that change a
 * lot (jobs, leases) grow and their plans go wrong.
 */
import { createPeriodicWorker, type PeriodicWorker } from '../periodic/periodic-worker.ts';
import type { Executor } from './database.ts';
import type { StoreLogger } from './session.ts';

const intervalMs = 30_000;
const checkpointWalBytes = 32 * 1024 * 1024;
const vacuumDeadRows = 2_000;
/** Of the live rows, as autovacuum has it. */
const vacuumDeadShare = 0.2;
/** One pass may hold up other statements, so it takes only the worst tables. */
const tablesPerPass = 3;

/** A pass is cheap when there is nothing to do. */
export function createEmbeddedMaintenance(db: Executor, logger: StoreLogger | undefined): PeriodicWorker {
  return createPeriodicWorker({
    name: 'maintenance of the embedded store',
    intervalMs,
    pass: (signal) => maintain(db, signal),
    logger,
    startsAtOnce: false,
  });
}

async function maintain(db: Executor, signal: AbortSignal): Promise<void> {
  const { rows: tables } = await db.query<{ table: string }>({
    text: `select format('%I.%I', schemaname, relname) as table from pg_stat_all_tables
           where n_dead_tup + n_mod_since_analyze > $1
             and n_dead_tup + n_mod_since_analyze > $2::float8 * n_live_tup and schemaname not like 'pg\\_toast%'
           order by n_dead_tup desc limit $3`,
    values: [vacuumDeadRows, vacuumDeadShare, tablesPerPass],
  });
  for (const { table } of tables) {
    if (signal.aborted) return;
    await db.query({ text: `vacuum (analyze) ${table}` });
  }
  if (signal.aborted) return;
  const { rows: wal } = await db.query<{ bytes: string }>({
    text: 'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) as bytes from pg_control_checkpoint()',
    values: [],
  });
  const mustCheckpoint = Number(wal[0]?.bytes ?? 0) > checkpointWalBytes;
  if (mustCheckpoint && !signal.aborted) await db.query({ text: 'checkpoint' });
}
