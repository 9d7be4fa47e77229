/** A dump of a PostgreSQL database of both services becomes a database again with the commands of docs/operating.md. For the tests of the gate and of the soak. */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { NEEDS_SERVER } from '../faults/fleet.ts';
import { openTestDatabase, type TestDatabase, testServerUrl } from '../support/database.ts';
import { startDomains } from '../support/domains.ts';
import { startPlatform } from '../support/platform.ts';
import {
  hasPostgresPrograms,
  openPostgresShell,
  type PostgresShell,
  postgresProgramsMissing,
} from '../support/postgres-programs.ts';
import { question } from '../support/turns.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const guide = await readFile(`${root}docs/operating.md`, 'utf8');

const TEXT = 'Jupiter is the largest planet, as report.pdf says. Saturn has rings. 木星';

const skip = NEEDS_SERVER || (!hasPostgresPrograms() && postgresProgramsMissing);

/** Declares the tests; `isOld`: also of a dump from before words were restorable. */
export function testBackups({ isOld }: { readonly isOld: boolean }): void {
  describe('a backup of a PostgreSQL database', { skip }, () => {
    let source: TestDatabase;
    let shell: PostgresShell;
    before(async () => {
      source = await openTestDatabase();
      shell = await openPostgresShell();
      await fillBothServices(source.db);
    });
    after(async () => {
      await source.close();
      await shell.close();
    });

    /** Runs the command line of the guide that begins so. */
    const follow = async (start: string, url: string): Promise<void> => {
      const lines = guide.split('\n').filter((line) => line.startsWith(start));
      assert.equal(lines.length, 1, start);
      await shell.run(lines[0] ?? '', { IRONCRAFT_DATABASE_URL: url });
    };
    const dump = () => follow('pg_dump ', source.url ?? '');

    test('is restored as the guide says, with every row and the words of every chunk', async () => {
      await dump();
      await withEmptyDatabase(async (url, restored) => {
        await follow('pg_restore --no-owner --exit-on-error ', url);
        await assertSame(source.db, restored);
      });
    });

    if (isOld)
      test('that was made before words were restorable is restored with the other command of the guide', async () => {
        const foundation = await readFile(`${root}migrations/platform/0004_files_and_stores.sql`, 'utf8');
        const [asItWas = ''] = /^create function chunk_lexemes\b[\s\S]*?^\$\$;$/m.exec(foundation) ?? [];
        await source.db.query({ text: asItWas.replace('create function', 'create or replace function') });
        await dump();
        await withEmptyDatabase(async (url) => {
          await assert.rejects(
            follow('pg_restore --no-owner --exit-on-error ', url),
            /function fold_text\(text\) does not exist/,
          );
        });
        await withEmptyDatabase(async (url, restored) => {
          await follow('pg_restore --no-owner -f - ', url);
          await assertSame(source.db, restored);
        });
      });
  });
}

/** A smith that has answered, a file, a chunk with words, a name that is ours, and money at both services. */
async function fillBothServices(db: Database): Promise<void> {
  const vault = createVault([createSecretKey(randomBytes(32))]);
  const platform = await startPlatform({ sharing: { db, vault } });
  try {
    const project = await platform.createProject();
    const runs = `/v1/smiths/${await project.createSmith()}/runs`;
    assert.equal((await project.post(runs, question('Hello'))).status, 201);
    const form = new FormData();
    form.set('file', new Blob([TEXT]), 'planets.txt');
    form.set('purpose', 'assistants');
    const file = await project.post('/v1/files', form);
    const store = await project.post('/v1/vector_stores', {});
    await db.query({
      text: `insert into vector_store_chunks (project_id, vector_store_id, file_id, position, text, tokens, embedding)
        values ($1, $2, $3, 0, $4, 20, '[1, 2, 3]')`,
      values: [project.projectId, store.body.id, file.body.id, TEXT],
    });
  } finally {
    await platform.close();
  }
  const domains = await startDomains({ sharing: { db, vault } });
  try {
    const workspace = await domains.createWorkspace();
    await workspace.fund(10_000);
    const bought = await workspace.post('/domains', { domain: 'planets.com', confirm_price: 11.9 });
    assert.ok(bought.status < 300, bought.text);
  } finally {
    await domains.close();
  }
}

async function assertSame(source: Database, restored: Database): Promise<void> {
  const expected = await countRows(source);
  assert.deepEqual(await countRows(restored), expected);
  const tables = ['runs', 'vector_store_chunks', 'wallets', 'domains.domains', 'domains.ledger_entries', 'jobs.queue'];
  for (const table of tables) assert.ok((expected[table] ?? 0) > 0, `${table} has rows`);
  const words = 'select lexemes::text from vector_store_chunks order by 1';
  const readWords = async (db: Database) => (await db.query({ text: words, values: [] })).rows;
  assert.deepEqual(await readWords(restored), await readWords(source));
}

/** Of every table of every schema that is not the system's. */
async function countRows(db: Database): Promise<Record<string, number>> {
  const { rows } = await db.query<{ name: string }>({
    text: `select oid::regclass::text as name from pg_class
      where relkind in ('r', 'p') and relnamespace::regnamespace::text !~ '^(pg_|information_schema$)' order by 1`,
    values: [],
  });
  const counts: Record<string, number> = {};
  for (const { name } of rows) {
    const counted = await db.query<{ n: number }>({ text: `select count(*)::int as n from ${name}`, values: [] });
    counts[name] = counted.rows[0]?.n ?? -1;
  }
  return counts;
}

async function withEmptyDatabase(work: (url: string, db: Database) => Promise<void>): Promise<void> {
  const serverUrl = testServerUrl() ?? '';
  const name = `ironcraft_restored_${randomBytes(6).toString('hex')}`;
  const admin = await connectServer({ url: serverUrl, poolSize: 1 });
  try {
    // From template0: what this server's own template holds is nothing that a dump may count on.
    await admin.query({ text: `create database ${name} template template0`, values: [] });
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    const db = await connectServer({ url: url.href, poolSize: 1 });
    try {
      await work(url.href, db);
    } finally {
      await db.close();
      await admin.query({ text: `drop database ${name} with (force)`, values: [] });
    }
  } finally {
    await admin.close();
  }
}
