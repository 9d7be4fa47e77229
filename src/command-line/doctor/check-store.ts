/** The database: whether it answers and may be written, its versions, its schema, its clock, and the keys in it. */
import type { Config } from '../../kernel/config/config.ts';
import type { Database } from '../../kernel/db/database.ts';
import { FolderInUseError } from '../../kernel/db/folder-lock.ts';
import { readMigrations } from '../../kernel/db/migrate.ts';
import { openDatabase } from '../../kernel/db/open-database.ts';
import { StoreUnreachableError } from '../../kernel/db/sql-errors.ts';
import { loadMasterKeys } from '../../kernel/vault/load-master-keys.ts';
import { createVault } from '../../kernel/vault/vault.ts';
import { listPending, migrationSources } from '../migrations.ts';
import { hasMasterKey, hasSigningKey, proveVault, storeExists } from '../open-store.ts';
import { checkPlayMoney } from './check-play-money.ts';
import { type Finding, failed, messageOf, ok, skipped, warning } from './finding.ts';

const OLDEST_POSTGRES = 15;
const OLDEST_PGVECTOR = '0.8';
/** Leases, schedules and lifetimes of tokens compare times of several machines. */
const MAX_CLOCK_SKEW_MS = 5_000;

/** `serves`: our server holds the port, so an embedded database in use is in good hands. */
export async function checkStore(config: Config, serves: boolean): Promise<Finding[]> {
  if (!storeExists(config)) {
    return [skipped('database', 'there is no embedded database yet: the first start makes it')];
  }
  let db: Database;
  try {
    db = await openDatabase({ url: config.databaseUrl, dataDir: config.dataDir, poolSize: 1 });
  } catch (error) {
    return [explainOpening(error, serves)];
  }
  try {
    return await examine(config, db);
  } finally {
    await db.close();
  }
}

function explainOpening(error: unknown, serves: boolean): Finding {
  if (error instanceof FolderInUseError) {
    return serves
      ? skipped('database', 'the running server holds the embedded database; what it says of it is above')
      : failed('database', error.message, 'Run doctor with the environment of that server, or stop it first.');
  }
  const fix =
    error instanceof StoreUnreachableError
      ? 'Check IRONCRAFT_DATABASE_URL, that the server runs, and that this machine may reach it.'
      : 'Correct what the message names, then run doctor again.';
  return failed('database', messageOf(error), fix);
}

async function examine(config: Config, db: Database): Promise<Finding[]> {
  const findings = [await checkVersion(db), await checkVector(db)];
  const pending = await attempt('migrations', () => checkMigrations(db));
  findings.push(await checkWritable(db), pending, await checkClock(db));
  if (pending.status === 'ok') findings.push(await checkSigningKeys(config, db), ...(await checkPlayMoney(config, db)));
  return findings;
}

async function attempt(check: string, work: () => Promise<Finding>): Promise<Finding> {
  try {
    return await work();
  } catch (error) {
    return failed(check, messageOf(error), 'Do what the message says, then run doctor again.');
  }
}

async function checkVersion(db: Database): Promise<Finding> {
  const { rows } = await db.query<{ version: string }>({
    text: `select current_setting('server_version') as version`,
    values: [],
  });
  const version = rows[0]?.version ?? 'unknown';
  const name = db.kind === 'embedded' ? `embedded PostgreSQL ${version}` : `PostgreSQL ${version}`;
  return Number.parseInt(version, 10) >= OLDEST_POSTGRES
    ? ok('database', name)
    : failed('database', `${name} is too old`, `Upgrade it to PostgreSQL ${OLDEST_POSTGRES} or later.`);
}

async function checkVector(db: Database): Promise<Finding> {
  const { rows } = await db.query<Vector>({
    text: `select
        (select extversion from pg_extension where extname = 'vector') as installed,
        (select default_version from pg_available_extensions where name = 'vector') as available,
        current_setting('is_superuser') = 'on' or coalesce(
          (select bool_or(trusted) from pg_available_extension_versions where name = 'vector'), false) as creatable`,
    values: [],
  });
  return judgeVector(rows[0] ?? { installed: null, available: null, creatable: false });
}

export interface Vector {
  /** Its version in this database, and the one that the server offers. */
  readonly installed: string | null;
  readonly available: string | null;
  /** Whether this role may surely enable it. A managed service may let others do so too. */
  readonly creatable: boolean;
}

export function judgeVector({ installed, available, creatable }: Vector): Finding {
  const install = `Install pgvector ${OLDEST_PGVECTOR} or later on the database server (Debian and Ubuntu: postgresql-NN-pgvector).`;
  if (installed === null) {
    if (available === null) return failed('pgvector', 'the server does not have it', install);
    if (isOldVector(available)) return failed('pgvector', `the server offers ${available}, which is too old`, install);
    if (creatable) return ok('pgvector', `${available} is available; the first migration enables it`);
    const fix = 'If the first start is refused, run this in the database as an administrator: create extension vector';
    return warning('pgvector', `${available} is available, and this role may lack the right to enable it`, fix);
  }
  if (!isOldVector(installed)) return ok('pgvector', installed);
  const update = 'In this database, run as an administrator: alter extension vector update';
  return failed('pgvector', `${installed} is too old`, isOldVector(available) ? `${install} ${update}` : update);
}

function isOldVector(version: string | null): boolean {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_PGVECTOR.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}

/** Carries the probe's transaction to its rollback. */
class RollBack extends Error {}

async function checkWritable(db: Database): Promise<Finding> {
  try {
    await db.transaction(async (tx) => {
      await tx.query({ text: 'create table ironcraft_doctor_probe (n int)' });
      await tx.query({ text: 'insert into ironcraft_doctor_probe values (1)' });
      throw new RollBack();
    });
  } catch (error) {
    if (error instanceof RollBack) return ok('writing', 'tables can be made and written');
    return failed(
      'writing',
      messageOf(error),
      'Use the primary server and not a replica of it, and a role that may create in the database: grant create, usage on schema public to the role.',
    );
  }
  throw new Error('the probe was not rolled back');
}

async function checkMigrations(db: Database): Promise<Finding> {
  const pending = await listPending(db);
  if (pending.length === 0) return ok('migrations', 'the schema is up to date');
  if (pending.length === (await countMigrations())) {
    return skipped('migrations', 'the database is empty: the first start sets it up');
  }
  return failed(
    'migrations',
    `pending: ${pending.join(', ')}`,
    'Apply them with: npm run ironcraft -- migrate (the server does it too when it starts).',
  );
}

async function countMigrations(): Promise<number> {
  const lists = await Promise.all(migrationSources.map(({ folder }) => readMigrations(folder)));
  return lists.flat().length;
}

async function checkClock(db: Database): Promise<Finding> {
  const before = Date.now();
  const { rows } = await db.query<{ now: Date }>({ text: 'select clock_timestamp() as now', values: [] });
  const here = (before + Date.now()) / 2;
  return judgeClock(here - (rows[0]?.now.getTime() ?? Number.NaN));
}

export function judgeClock(skewMs: number): Finding {
  const seconds = Math.abs(skewMs / 1000).toFixed(1);
  return Math.abs(skewMs) <= MAX_CLOCK_SKEW_MS
    ? ok('clock', `${seconds} s from the database's`)
    : failed(
        'clock',
        `this machine's clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database's`,
        'Keep both machines on time with NTP (timedatectl set-ntp true).',
      );
}

async function checkSigningKeys(config: Config, db: Database): Promise<Finding> {
  if (!(await hasSigningKey(db))) return skipped('signing keys', 'there is none yet: the first start makes it');
  if (!hasMasterKey(config)) {
    const fix =
      'Set IRONCRAFT_MASTER_KEY to the key that the database was set up with, or restore master.key from a backup.';
    return failed('signing keys', 'there is no master key to open them', fix);
  }
  try {
    await proveVault(db, createVault(await loadMasterKeys(config)));
    return ok('signing keys', 'the master key opens the one that signs');
  } catch (error) {
    return failed('signing keys', 'the master key does not open the one that signs', messageOf(error));
  }
}
