/** Tables that many parts read and one folder writes: no other source holds a statement that changes them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

const OWNERS: readonly { readonly folder: string; readonly tables: readonly string[] }[] = [
  { folder: 'src/platform/threads/', tables: ['threads', 'messages'] },
  { folder: 'src/platform/feed/', tables: ['events', 'event_links', 'feed_followers'] },
  { folder: 'src/platform/usage/', tables: ['usage_entries', 'usage_daily'] },
  { folder: 'src/platform/budgets/', tables: ['budgets', 'budget_periods', 'budget_reservations'] },
];

/** The statements in this source that write a table of another folder's, as `file: statement`. */
function findForeignWrites(path: string, source: string): string[] {
  return OWNERS.filter(({ folder }) => !path.startsWith(folder)).flatMap(({ tables }) => {
    const table = `(?:${tables.join('|')})`;
    const sql = `\\b(?:insert\\s+into|update(?:\\s+only)?|delete\\s+from(?:\\s+only)?|truncate(?:\\s+table)?|merge\\s+into)\\s+"?${table}\\b`;
    const kysely = `\\b(?:insertInto|updateTable|deleteFrom|mergeInto|replaceInto)\\(\\s*['"\`]${table}\\b`;
    const found = source.matchAll(new RegExp(`${sql}|${kysely}`, 'gi'));
    return [...found].map(([statement]) => `${path}: ${statement.replaceAll(/\s+/g, ' ')}`);
  });
}

test('what many parts read is written by its owner alone', () => {
  const sources = readdirSync(join(root, 'src/platform'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/platform/${name.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
  assert.ok(sources.length > 200, `${sources.length} sources were looked through`);
  const foreign = sources.flatMap((path) => findForeignWrites(path, readFileSync(join(root, path), 'utf8')));
  assert.deepEqual(foreign, []);
});

test('every way to write a table is found, and reading it is not writing', () => {
  const elsewhere = 'src/platform/resources/conversations/purge.ts';
  for (const statement of [
    'insert into messages (project_id) values ($1)',
    'INSERT INTO\n  threads (id)',
    'update threads set turns = 1',
    'update threads t set turns = 1',
    'delete from events where id = $1',
    'delete from only "messages"',
    'truncate table messages',
    "db.insertInto('messages')",
    'db.updateTable(\n  "threads as t"',
    "db.deleteFrom('events')",
  ]) {
    assert.equal(findForeignWrites(elsewhere, statement).length, 1, statement);
  }
  for (const statement of [
    'select * from messages for update',
    'insert into run_events (project_id) values ($1)',
    'update messages_read set n = 1',
    "db.selectFrom('threads')",
    "db.insertInto('run_events')",
  ]) {
    assert.deepEqual(findForeignWrites(elsewhere, statement), [], statement);
  }
  assert.deepEqual(findForeignWrites('src/platform/threads/copy-thread.ts', 'insert into messages'), []);
  assert.equal(findForeignWrites('src/platform/threads/copy-thread.ts', 'insert into events').length, 1);
});
