import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findWrongEntries, mayBeChance, reasonNeverFlaky } from './flaky-tests.ts';
import type { Outcome } from './messages.ts';
import { root } from './select-files.ts';

const file = 'test/runner/task-queue.test.ts';
const failure = (...path: string[]): Outcome => ({ state: 'failed', path, error: '' });

test('a failure may be chance unless its test is listed or its file guards a loss', () => {
  const listed = { file, test: 'a group › a test', seed: 1, date: '2026-11-28' };
  assert.equal(mayBeChance(file, [failure('a group', 'a test')], []), true);
  assert.equal(mayBeChance(file, [failure('another test'), failure('a group', 'a test')], [listed]), false);
  assert.equal(mayBeChance(file, [failure('another test')], [listed]), true);
  assert.equal(mayBeChance('src/platform/billing/draw-sql.test.ts', [failure('a test')], []), false);
});

test('money, tenancy, secrets and losses are guarded by files that exist', () => {
  const files = globSync('{src,test}/**/*.test.ts', { cwd: root });
  for (const reason of ['money', 'tenancy', 'secrets', 'losses']) {
    const guarded = files.filter((path) => reasonNeverFlaky(path) === reason);
    assert.ok(guarded.length >= 3, `${reason}: ${guarded.join(', ')}`);
    assert.ok(guarded.every((path) => existsSync(join(root, path))));
  }
});

test('an entry is wrong when it is 14 days old, names no file, or excuses a loss', () => {
  const entry = { file, test: 'a test', seed: 1, date: '2026-11-01' };
  const judge = (change: Partial<typeof entry>, now: string) =>
    findWrongEntries(root, [{ ...entry, ...change }], new Date(now)).join();
  assert.equal(judge({}, '2026-11-14T23:59:59Z'), '');
  assert.match(judge({}, '2026-11-15T00:00:00Z'), /older than 14 days/);
  assert.match(judge({ date: 'yesterday' }, '2026-11-14T00:00:00Z'), /older than 14 days/);
  assert.match(judge({ file: 'test/none.test.ts' }, '2026-11-02T00:00:00Z'), /does not exist/);
  assert.match(judge({ file: 'src/kernel/vault/vault.test.ts' }, '2026-11-02T00:00:00Z'), /a test of secrets may not/);
});
