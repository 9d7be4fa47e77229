/** docs/threat-model.md points at tests: each is there, and the runner fails a file without tests. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/threat-model.md'), 'utf8');

test('every test that the threat model names exists', () => {
  const named = [...page.matchAll(/`((?:src|test)\/[^`]+)`/g)].map(([, path = '']) => path);
  assert.ok(named.length > 40);
  for (const path of named) {
    assert.match(path, /\.(?:test|soak)\.ts$/);
    assert.ok(existsSync(join(root, path)), path);
  }
});

test('every threat names what stops it and a test that shows it', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| who'));
  assert.ok(rows.length > 20);
  for (const row of rows) {
    const cells = row.split(/(?<!\\)\|/).slice(1, -1);
    assert.equal(cells.length, 4, row);
    const [, tries = '', stop = '', tests = ''] = cells.map((cell) => cell.trim());
    assert.ok(tries !== '' && stop !== '' && /\.(?:test|soak)\.ts/.test(tests), row);
  }
});
