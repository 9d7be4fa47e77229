/**
 * What PostgreSQL's background processes do and PGlite, which has none, does not: checkpoints, without which the WAL grows
 * for ever and a restart after a crash replays all of it; and vacuum with statistics, without which tables that change a
 * lot (jobs, leases) grow and their plans go wrong.
 */
import type { Executor } from './database.ts';
import type { StoreLogger } from './session.ts';

const lookIntervalMs = 30_000;
const checkpointWalBytes = 32 * 1024 * 1024;
const vacuumDeadRows = 2_000;
/** Of the live rows, as autovacuum has it. */
const vacuumDeadShare = 0.2;
/** One pass may hold up other statements, so it takes only the worst tables. */
const tablesPerPass = 3;

export class EmbeddedUpkeep {
  readonly #db: Executor;
  readonly #timer: NodeJS.Timeout;

  constructor(db: Executor, logger: StoreLogger | undefined, intervalMs: number = lookIntervalMs) {
    this.#db = db;
    this.#timer = setInterval(() => {
      this.run().catch((error: unknown) => logger?.warn({ err: error }, 'upkeep of the embedded store failed'));
    }, intervalMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** One pass; cheap when there is nothing to do. */
  async run(): Promise<void> {
    const { rows: tables } = await this.#db.query<{ table: string }>({
      text: `select format('%I.%I', schemaname, relname) as table from pg_stat_all_tables
             where n_dead_tup + n_mod_since_analyze > $1
               and n_dead_tup + n_mod_since_analyze > $2::float8 * n_live_tup and schemaname not like 'pg\\_toast%'
             order by n_dead_tup desc limit $3`,
      values: [vacuumDeadRows, vacuumDeadShare, tablesPerPass],
    });
    for (const { table } of tables) await this.#db.query({ text: `vacuum (analyze) ${table}` });
    const { rows: wal } = await this.#db.query<{ bytes: string }>({
      text: 'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) as bytes from pg_control_checkpoint()',
      values: [],
    });
    if (Number(wal[0]?.bytes ?? 0) > checkpointWalBytes) await this.#db.query({ text: 'checkpoint' });
  }
}
