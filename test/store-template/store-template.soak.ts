/**
 * A server that starts from the template has the database of one that starts from nothing. The template may be older than the
 * last migrations, which are then applied to it.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeTemplate } from '../../src/command-line/migrations.ts';
import { connectEmbedded } from '../../src/kernel/db/connect-embedded.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { setUpSchemas } from '../support/database.ts';

/** Everything that migrations and the job queue make, by kind. Ids of the system's own differ from store to store. */
const descriptions: Readonly<Record<string, string>> = {
  columns: `select table_schema, table_name, column_name, ordinal_position, data_type, udt_name, is_nullable, column_default,
      is_identity, is_generated, generation_expression
    from information_schema.columns where table_schema not in ('pg_catalog', 'information_schema')`,
  relations: `select relnamespace::regnamespace::text as schema, relname, relkind, relpersistence, reloptions,
      pg_get_expr(relpartbound, oid) as bound
    from pg_class where relnamespace::regnamespace::text in ('public', 'jobs')`,
  indexes: `select schemaname, tablename, indexname, indexdef from pg_indexes where schemaname in ('public', 'jobs')`,
  constraints: `select conrelid::regclass::text as relation, conname, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace::regnamespace::text in ('public', 'jobs')`,
  functions: `select proname, pg_get_functiondef(oid) as definition from pg_proc
    where pronamespace::regnamespace::text in ('public', 'jobs') and prokind in ('f', 'p') and probin is null`,
  triggers: `select tgrelid::regclass::text as relation, pg_get_triggerdef(oid) as definition from pg_trigger
    where not tgisinternal`,
  types: `select typnamespace::regnamespace::text as schema, typname, typtype,
      array(select enumlabel from pg_enum where enumtypid = t.oid order by enumsortorder) as labels
    from pg_type t where typnamespace::regnamespace::text in ('public', 'jobs')`,
  sequences: `select schemaname, sequencename, last_value from pg_sequences`,
  extensions: 'select extname, extversion from pg_extension',
  databases: 'select datname, datistemplate, datcollate, datctype from pg_database',
  settings: `select name, setting from pg_settings where source = 'configuration file' or name like 'wal_seg%'`,
  migrations: 'select service, name, checksum from schema_migrations',
  'job queue': 'select version from jobs.version',
};

/** The job queue makes these for each day: a template has those of the day on which it was built. */
const OF_A_DAY = /queue_stats_\d{8}/;

async function describeStore(db: Database): Promise<Record<string, string[]>> {
  const described: Record<string, string[]> = {};
  for (const [kind, text] of Object.entries(descriptions)) {
    const { rows } = await db.query({ text, values: [] });
    described[kind] = rows
      .map((row) => JSON.stringify(row))
      .filter((row) => !OF_A_DAY.test(row))
      .sort();
  }
  return described;
}

/** How many rows each table has. */
async function countRows(db: Database): Promise<Record<string, number>> {
  const { rows } = await db.query<{ name: string }>({
    text: `select oid::regclass::text as name from pg_class
      where relkind = 'r' and relnamespace::regnamespace::text in ('public', 'jobs') order by 1`,
    values: [],
  });
  const counts: Record<string, number> = {};
  for (const { name } of rows.filter((row) => !OF_A_DAY.test(row.name))) {
    const counted = await db.query<{ n: number }>({ text: `select count(*)::int as n from ${name}`, values: [] });
    counts[name] = counted.rows[0]?.n ?? -1;
  }
  return counts;
}

test('the template and what a first start adds to it equal what the migrations make', async (t) => {
  assert.ok(existsSync(storeTemplate), `${storeTemplate} is missing: run npm run build:store-template`);
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-store-template-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [fromTemplate, fromNothing] = [
    await connectEmbedded({ folder: join(folder, 'template'), template: storeTemplate }),
    await connectEmbedded({ folder: join(folder, 'nothing') }),
  ];
  t.after(() => Promise.all([fromTemplate.close(), fromNothing.close()]));
  const shipped = await describeStore(fromTemplate);
  assert.ok((shipped.migrations ?? []).length > 0, 'the template holds migrations');
  for (const db of [fromTemplate, fromNothing]) await setUpSchemas(db);
  assert.deepEqual(await describeStore(fromTemplate), await describeStore(fromNothing));
  assert.deepEqual(await countRows(fromTemplate), await countRows(fromNothing));
});
