/**
 * Brings the schema up to date: the files `NNNN_name.sql` of a folder in order, each in its own transaction and each once.
 * A transaction-level advisory lock makes it safe for any number of processes to start at the same time. A replica that is
 * older than the schema runs on: files it does not know are left alone.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database, Executor } from './database.ts';

export interface MigrationSource {
  /** Keeps services that share one database apart. */
  readonly service: string;
  readonly folder: string;
}

export interface Migration {
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
}

/** Arbitrary, but the same in every release: two releases that start together must exclude each other. */
const advisoryLockKey = 7_305_510_481;

const fileName = /^\d{4}_[a-z0-9_]+\.sql$/;

const createTable = `create table if not exists schema_migrations (
  service text not null,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now(),
  primary key (service, name)
)`;

/**
 * Applies what is missing and says what that was. Rejects when a file that was applied has changed since, when a name is
 * malformed or a number is used twice, and with the store's error, naming the file, when its SQL fails.
 */
export async function migrate(db: Database, source: MigrationSource): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(source.folder);
  const pending = await pendingMigrations(db, source, migrations);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (pending.includes(migration.name) && (await apply(db, source.service, migration))) applied.push(migration.name);
  }
  return { applied };
}

/** Names of the files that are not applied yet. Rejects when one that was applied has changed since. */
export async function pendingMigrations(
  db: Executor,
  source: MigrationSource,
  migrations?: readonly Migration[],
): Promise<string[]> {
  const known = migrations ?? (await readMigrations(source.folder));
  const applied = await readApplied(db, source.service);
  for (const migration of known) refuseChanged(source.service, migration, applied.get(migration.name));
  return known.filter(({ name }) => !applied.has(name)).map(({ name }) => name);
}

/** The folder's files in order. A checksum ignores how lines end, which a checkout may alter. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const numbers = new Set<string>();
  for (const name of names) {
    if (!fileName.test(name)) throw new Error(`${join(folder, name)}: name it NNNN_name.sql, as 0001_foundation.sql`);
    const number = name.slice(0, 4);
    if (numbers.has(number)) throw new Error(`${join(folder, name)}: the number ${number} is taken; use the next one`);
    numbers.add(number);
  }
  return Promise.all(
    names.map(async (name) => {
      const sql = (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/** False when another process was first. */
async function apply(db: Database, service: string, migration: Migration): Promise<boolean> {
  return db.transaction(async (tx) => {
    // Building an index over many rows may take longer than any request may, and so may the wait for another process that does. A script
    // has no other limit.
    await tx.query({ text: 'set local statement_timeout = 0' });
    await tx.query({ text: `select pg_advisory_xact_lock(${advisoryLockKey})` });
    await tx.query({ text: createTable });
    const applied = await readApplied(tx, service);
    refuseChanged(service, migration, applied.get(migration.name));
    if (applied.has(migration.name)) return false;
    try {
      await tx.query({ text: migration.sql });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`migration ${service}/${migration.name} failed and nothing of it was applied: ${reason}`, {
        cause: error,
      });
    }
    await tx.query({
      text: 'insert into schema_migrations (service, name, checksum) values ($1, $2, $3)',
      values: [service, migration.name, migration.checksum],
    });
    return true;
  });
}

async function readApplied(db: Executor, service: string): Promise<Map<string, string>> {
  const table = await db.query<{ exists: boolean }>({
    text: `select to_regclass('schema_migrations') is not null as exists`,
    values: [],
  });
  if (table.rows[0]?.exists !== true) return new Map();
  const { rows } = await db.query<{ name: string; checksum: string }>({
    text: 'select name, checksum from schema_migrations where service = $1',
    values: [service],
  });
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

function refuseChanged(service: string, migration: Migration, appliedChecksum: string | undefined): void {
  if (appliedChecksum === undefined || appliedChecksum === migration.checksum) return;
  throw new Error(
    `migration ${service}/${migration.name} was changed after it was applied to this database: restore the file as it was and put the change into a new one`,
  );
}
