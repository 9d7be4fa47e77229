/** What the tables of the embedded store need, which of it comes first, and how it is done. */
import type { Executor } from './database.ts';

/** `tidy`: a vacuum, and statistics made of as many rows as PostgreSQL has it, which takes a second of a large table. */
export type MaintenanceTask =
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'vacuum' | 'analyze' | 'tidy'; readonly table: string };

/** Of a table; what PostgreSQL's statistics say, so nearly right. */
export interface TableNeeds {
  /** As SQL has it. */
  readonly table: string;
  readonly bytes: number;
  readonly liveRows: number;
  readonly deadRows: number;
  /** Live rows as plans know them, from the last vacuum or analyze; -1: from none. */
  readonly plannedRows: number;
  /** Transactions since its oldest row that is not frozen. */
  readonly age: number;
}

export interface StoreNeeds {
  readonly tables: readonly TableNeeds[];
  /** Written since the last checkpoint. */
  readonly walBytes: number;
}

/** Vacuum takes some milliseconds of a table of this size, and a second of a large one. */
const SMALL_BYTES = 1024 * 1024;
const DEAD_ROWS = 200;
/** Of the live rows, as PostgreSQL has it. */
const DEAD_SHARE = 0.2;
const LARGE_ROWS = 2_000;
/** A table that has become so much larger than what it holds is worth a pause. */
const BLOATED_ROWS = 10_000;
const BLOATED_SHARE = 2;
/** A table that has grown by so much beyond what plans were made for. */
const GROWN_ROWS = 500;
const GROWN_SHARE = 0.5;
/** PostgreSQL's `autovacuum_freeze_max_age` is 200 million; at two billion it takes no more transactions. */
const OLD_AGE = 150_000_000;
const TOO_OLD_AGE = 1_000_000_000;
/** The first change of a page after a checkpoint writes all of it, so that many checkpoints write a lot; and one takes as long as there are changed pages. */
const CHECKPOINT_WAL_BYTES = 64 * 1024 * 1024;
/** Statistics are made of 300 times so many rows, each read from a page of its own. */
const STATISTICS_TARGET = { analyze: 3, tidy: 100 } as const;

export async function readNeeds(db: Executor): Promise<StoreNeeds> {
  const [{ rows: tables }, { rows: wal }] = await Promise.all([
    db.query<TableNeeds>({
      text: `
        select * from (
          select c.oid::regclass::text as "table", pg_relation_size(c.oid)::float8 as bytes,
            pg_stat_get_live_tuples(c.oid)::float8 as "liveRows", pg_stat_get_dead_tuples(c.oid)::float8 as "deadRows",
            c.reltuples::float8 as "plannedRows", age(c.relfrozenxid)::float8 as age
          from pg_class c where c.relkind = 'r') as each
        where "deadRows" > $1 or "liveRows" > $2 + "plannedRows" or age > $3`,
      values: [DEAD_ROWS, GROWN_ROWS, OLD_AGE],
    }),
    db.query<{ bytes: number }>({
      text: 'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 as bytes from pg_control_checkpoint()',
      values: [],
    }),
  ]);
  return { tables, walBytes: wal[0]?.bytes ?? 0 };
}

/** The most urgent one; `waits`: there is one that takes long, for when the store is quiet. */
export function chooseTask(
  { tables, walBytes }: StoreNeeds,
  { isQuiet, isDone }: { readonly isQuiet: boolean; readonly isDone: (task: MaintenanceTask) => boolean },
): { task: MaintenanceTask | undefined; waits: boolean } {
  const tasksOf = (kind: 'vacuum' | 'analyze' | 'tidy', needsIt: (needs: TableNeeds) => boolean): MaintenanceTask[] =>
    tables
      .filter(needsIt)
      .sort((one, other) => other.deadRows - one.deadRows)
      .map(({ table }) => ({ kind, table }));
  const late = tasksOf('tidy', canWait).filter((task) => !isDone(task));
  const tasks: MaintenanceTask[] = [
    ...(walBytes > CHECKPOINT_WAL_BYTES ? [{ kind: 'checkpoint' as const }] : []),
    ...tasksOf('vacuum', isSmallAndHot),
    ...tasksOf('analyze', hasGrown),
    ...tasksOf('vacuum', cannotWait),
    ...(isQuiet ? late : []),
  ];
  return { task: tasks.find((task) => !isDone(task)), waits: late.length > 0 };
}

function isSmallAndHot({ bytes, liveRows, deadRows }: TableNeeds): boolean {
  return bytes <= SMALL_BYTES && deadRows > DEAD_ROWS + DEAD_SHARE * liveRows;
}

function hasGrown({ liveRows, plannedRows }: TableNeeds): boolean {
  return liveRows > GROWN_ROWS + (1 + GROWN_SHARE) * Math.max(plannedRows, 0);
}

/** New rows alone are no reason, as they are for PostgreSQL: a table that is only added to takes seconds to vacuum, and nothing here becomes faster. */
function canWait({ deadRows, liveRows, age }: TableNeeds): boolean {
  return deadRows > LARGE_ROWS + DEAD_SHARE * liveRows || age > OLD_AGE;
}

function cannotWait({ deadRows, liveRows, age }: TableNeeds): boolean {
  return deadRows > BLOATED_ROWS + BLOATED_SHARE * liveRows || age > TOO_OLD_AGE;
}

export async function runTask(db: Executor, task: MaintenanceTask): Promise<void> {
  if (task.kind === 'checkpoint') {
    await db.query({ text: 'checkpoint' });
    return;
  }
  const { kind } = task;
  if (kind !== 'vacuum') await db.query({ text: `set default_statistics_target to ${STATISTICS_TARGET[kind]}` });
  await db.query({ text: await writeCommand(db, task) });
  await forgetEmptyTables(db);
}

async function writeCommand(
  db: Executor,
  { kind, table }: Exclude<MaintenanceTask, { kind: 'checkpoint' }>,
): Promise<string> {
  if (kind !== 'analyze') return `${kind === 'tidy' ? 'vacuum (analyze)' : kind} ${table}`;
  // Only the columns that statements search by: the others are mostly JSON, and take longer than all the rest.
  const { rows } = await db.query<{ columns: string | null }>({
    text: `
      select string_agg(quote_ident(attname), ', ') as columns from pg_attribute a
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
        and exists (select from pg_index i where i.indrelid = a.attrelid and a.attnum = any (i.indkey))`,
    values: [table],
  });
  const columns = rows[0]?.columns;
  return columns ? `analyze ${table} (${columns})` : `analyze ${table}`;
}

/**
 * An empty table that was vacuumed or analyzed is known to be empty, and a statement that is planned then reads all of it by and by, also
 * when it has grown: plans last as long as the connection does. One that was never looked at is taken for a table with some rows.
 */
export async function forgetEmptyTables(db: Executor): Promise<void> {
  await db.query({ text: `update pg_class set reltuples = -1 where relkind = 'r' and reltuples = 0`, values: [] });
}
