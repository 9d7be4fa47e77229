/**
 * A fresh, migrated database for one test file. By default it is the embedded store in memory; with
 * IRONCRAFT_TEST_DATABASE_URL set it is a database of its own on that server. Either is a copy of one that was set up once, as a whole start does it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectEmbedded } from '../../src/kernel/db/connect-embedded.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { dropTemplates, engineVersion, shortenLog } from '../../src/kernel/db/embedded-folder.ts';
import { FolderInUseError, type FolderLock, lockFolder } from '../../src/kernel/db/folder-lock.ts';
import { type MigrationSource, migrate, readMigrations } from '../../src/kernel/db/migrate.ts';
import { createJobs } from '../../src/kernel/jobs/jobs.ts';
import { cacheFolder } from './cache-folder.ts';
import { installClock, searchPath, shiftClock } from './database-time.ts';
import { holdEngine } from './embedded-engine.ts';
import { installQueues } from './installed-queues.ts';
import { shareInProcess } from './shared.ts';

export interface TestDatabase {
  readonly db: Database;
  /** The server database's address, to give to another process; absent on the embedded store. */
  readonly url?: string;
  /**
   * Has the database be ahead of the real time by so much (negative: behind it), in every session from its next statement on. Only in a
   * database of one's own. The process has its own time: see `kernel/clock`.
   */
  shiftTime(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Default: every folder of `migrations/`. */
  readonly sources?: readonly MigrationSource[];
  /** Default: the server when IRONCRAFT_TEST_DATABASE_URL is set. */
  readonly store?: 'embedded' | 'server';
  /** Connections to the server. Default 4: each takes the server longer than most tests take it, and what starts uses all it may. */
  readonly poolSize?: number;
}

const migrationsFolder = fileURLToPath(new URL('../../migrations/', import.meta.url));
/** Raise it when what a copy starts with changes and neither the migrations nor PGlite tell. */
const contentRevision = 6;
const buildTimeoutMs = 60_000;
const pollMs = 25;
const cacheLifetimeMs = 24 * 3_600_000;

/** A server on which tests may make and drop databases; undefined: the embedded store. */
export function testServerUrl(): string | undefined {
  return process.env.IRONCRAFT_TEST_DATABASE_URL || undefined;
}

export async function openTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const sources = options.sources ?? allSources();
  const serverUrl = testServerUrl();
  const store = options.store ?? (serverUrl === undefined ? 'embedded' : 'server');
  if (store === 'embedded') return openEmbedded(sources);
  if (serverUrl === undefined) throw new Error('set IRONCRAFT_TEST_DATABASE_URL to test on a PostgreSQL server');
  return openOnServer(serverUrl, sources, options.poolSize);
}

/**
 * Declares the same tests for the embedded store, or, where a server is given, for that: whoever runs the tests of a server has
 * run those of the embedded store too. Without one the server's are skipped, visibly. The database that `current` returns
 * exists while tests run.
 */
export function describeOnEachStore(
  name: string,
  options: Omit<TestDatabaseOptions, 'store'>,
  declare: (current: () => TestDatabase) => void,
): void {
  for (const store of testServerUrl() === undefined ? (['embedded', 'server'] as const) : (['server'] as const)) {
    const missing = store === 'server' && testServerUrl() === undefined;
    const skip = missing ? 'set IRONCRAFT_TEST_DATABASE_URL to run these' : false;
    describe(`${name} (${store} store)`, { skip }, () => {
      let database: TestDatabase | undefined;
      before(async () => {
        database = await openTestDatabase({ ...options, store });
      });
      after(() => database?.close());
      declare(() => {
        if (database === undefined) throw new Error('the test database is not open: use it inside a test');
        return database;
      });
    });
  }
}

function allSources(): MigrationSource[] {
  return readdirSync(migrationsFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => ({ service: entry.name, folder: join(migrationsFolder, entry.name) }))
    .sort((a, b) => a.service.localeCompare(b.service));
}

const contentKeys = new Map<string, Promise<string>>();

/** Names the content that a copy starts with; the migrations are read once. */
function contentKey(sources: readonly MigrationSource[]): Promise<string> {
  const folders = sources.map(({ service, folder }) => `${service} ${folder}`).join('\n');
  const known = contentKeys.get(folders) ?? nameContent(sources);
  contentKeys.set(folders, known);
  return known;
}

async function nameContent(sources: readonly MigrationSource[]): Promise<string> {
  const hash = createHash('sha256').update(`${engineVersion()} ${contentRevision}`);
  for (const { service, folder } of sources) {
    for (const { name, checksum } of await readMigrations(folder)) hash.update(`\n${service}/${name} ${checksum}`);
  }
  return hash.digest('hex').slice(0, 16);
}

/** What copies start with: with the migrations of both services what the first start of each has written. */
async function setUpContent(db: Database, sources: readonly MigrationSource[]): Promise<void> {
  await setUpSchemas(db, sources);
  if (sources.length === allSources().length) await installQueues(db);
}

/** What a whole first start of the server sets up. Without migrations nothing, not even the job queue's schema. */
export async function setUpSchemas(db: Database, sources: readonly MigrationSource[] = allSources()): Promise<void> {
  for (const source of sources) await migrate(db, source);
  if (sources.length === 0) return;
  const jobs = createJobs(db, { logger: { warn: () => undefined, error: () => undefined } });
  await jobs.start();
  await jobs.stop();
}

async function openEmbedded(sources: readonly MigrationSource[]): Promise<TestDatabase> {
  const file = join(cacheFolder, `test-${await contentKey(sources)}.tar`);
  if (!existsSync(file)) await buildDump(file, sources);
  const dump = await holdDump(file);
  const db = await connectEmbedded({ folder: undefined, dump, engine: await holdEngine() });
  await setSearchPath(db);
  return { db, shiftTime: (ms) => shiftClock(db, ms), close: () => db.close() };
}

/** The embedded store has one session, and knows no settings of a database. */
async function setSearchPath(db: Database): Promise<void> {
  await db.query({ text: `set search_path = ${searchPath}` });
}

const dumps = new Map<string, Promise<Uint8Array>>();

/** Read once for the process, into memory that the threads of its stores share: each of them makes a copy of its own. */
function holdDump(file: string): Promise<Uint8Array> {
  const held = dumps.get(file) ?? readShared(file);
  dumps.set(file, held);
  return held;
}

async function readShared(file: string): Promise<Uint8Array> {
  const bytes = await readFile(file);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}

/** One process builds; the others wait for its file. */
async function buildDump(file: string, sources: readonly MigrationSource[]): Promise<void> {
  await mkdir(cacheFolder, { recursive: true });
  const lock = await lockUnlessBuilt(file);
  if (lock === undefined) return;
  try {
    await removeOutdated();
    const db = await connectEmbedded({ folder: undefined, engine: await holdEngine() });
    try {
      // From the beginning, so that the log keeps no files for later: each copy would have them too.
      await db.query({ text: 'set wal_recycle = off' });
      await setSearchPath(db);
      await installClock(db);
      await setUpContent(db, sources);
      for (const statement of [...dropTemplates, ...shortenLog]) await db.query({ text: statement });
      const partial = `${file}.partial-${process.pid}`;
      await writeFile(partial, await db.dump());
      await rename(partial, file);
    } finally {
      await db.close();
    }
  } finally {
    lock.release();
  }
}

/** Each change of a migration makes a new file; yesterday's are of no use. */
async function removeOutdated(): Promise<void> {
  for (const name of await readdir(cacheFolder)) {
    const path = join(cacheFolder, name);
    if (!name.startsWith('test-') || (await stat(path)).mtimeMs > Date.now() - cacheLifetimeMs) continue;
    await rm(path, { recursive: true, force: true });
  }
}

async function lockUnlessBuilt(file: string): Promise<FolderLock | undefined> {
  const deadlineMs = performance.now() + buildTimeoutMs;
  while (!existsSync(file)) {
    try {
      const lock = lockFolder(`${file}.building`);
      if (!existsSync(file)) return lock;
      lock.release();
    } catch (error) {
      if (!(error instanceof FolderInUseError) || performance.now() > deadlineMs) throw error;
      await wait(pollMs);
    }
  }
  return undefined;
}

async function openOnServer(
  serverUrl: string,
  sources: readonly MigrationSource[],
  poolSize = 4,
): Promise<TestDatabase> {
  const template = `ironcraft_test_${await contentKey(sources)}`;
  const name = `${template}_${randomBytes(6).toString('hex')}`;
  await onServer(async (admin) => {
    if (!(await databaseExists(admin, template))) await buildTemplate(admin, serverUrl, template, sources);
    await createDatabase(admin, name, template);
  });
  const url = urlOf(serverUrl, name);
  const db = await connectServer({ url, poolSize });
  return {
    db,
    url,
    shiftTime: (ms) => shiftClock(db, ms),
    async close() {
      await db.close();
      await onServer((admin) => dropDatabase(admin, name));
    },
  };
}

/** One process builds; the lock makes the others wait. The template gets its name once it is complete. */
async function buildTemplate(
  admin: Database,
  serverUrl: string,
  template: string,
  sources: readonly MigrationSource[],
): Promise<void> {
  const lockKey = Number.parseInt(template.slice(-12), 16);
  // A database cannot be made inside a transaction, so the lock belongs to the session: the pool has one connection.
  await admin.query({ text: 'select pg_advisory_lock($1)', values: [lockKey] });
  try {
    if (await databaseExists(admin, template)) return;
    const partial = `${template}_partial`;
    await dropDatabase(admin, partial);
    await createDatabase(admin, partial);
    const db = await connectServer({ url: urlOf(serverUrl, partial) });
    try {
      await installClock(db);
      await setUpContent(db, sources);
    } finally {
      await db.close();
    }
    await admin.query({ text: `alter database ${partial} rename to ${template}`, values: [] });
  } finally {
    await admin.query({ text: 'select pg_advisory_unlock($1)', values: [lockKey] });
  }
}

/** One connection a process: each database that a test opens is made by one statement, and dropped by another. */
const borrowAdmin = shareInProcess(() => {
  const url = testServerUrl();
  if (url === undefined) throw new Error('set IRONCRAFT_TEST_DATABASE_URL to test on a PostgreSQL server');
  return connectServer({ url, poolSize: 1, statementTimeoutMs: buildTimeoutMs });
});

async function onServer(work: (admin: Database) => Promise<void>): Promise<void> {
  const { value: admin, release } = await borrowAdmin();
  try {
    await work(admin);
  } finally {
    await release();
  }
}

/** A copy has what its template holds, but none of its settings. */
async function createDatabase(admin: Database, name: string, template?: string): Promise<void> {
  // Copied as files: through the buffers, with each page in the log, it takes the server twice the time.
  const copied = template === undefined ? '' : ` template ${template} strategy file_copy`;
  await admin.query({ text: `create database ${name}${copied}`, values: [] });
  await admin.query({ text: `alter database ${name} set search_path = ${searchPath}`, values: [] });
}

async function databaseExists(admin: Database, name: string): Promise<boolean> {
  const { rowCount } = await admin.query({ text: 'select from pg_database where datname = $1', values: [name] });
  return rowCount > 0;
}

async function dropDatabase(admin: Database, name: string): Promise<void> {
  await admin.query({ text: `drop database if exists ${name} with (force)`, values: [] });
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}
