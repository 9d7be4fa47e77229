/** The table of guarantees names tests that exist, so that a test which moves takes its promise with it. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const table = readFileSync(join(root, 'test/README.md'), 'utf8');
const named = new Set([...table.matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path = '']) => path));

test('every path in the table of guarantees exists', () => {
  assert.ok(named.size > 50, `${named.size} paths were found`);
  assert.deepEqual(
    [...named].filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test('every test that a document names exists', () => {
  const documents = globSync('{*.md,docs/**/*.md}', { cwd: root });
  const missing = documents.flatMap((document) => {
    const paths = readFileSync(join(root, document), 'utf8').matchAll(/\b(?:src|test)\/[\w./-]+\.(?:test|soak)\.ts\b/g);
    return [...paths].filter(([path]) => !existsSync(join(root, path))).map(([path]) => `${document}: ${path}`);
  });
  assert.ok(documents.length > 50, `${documents.length} documents were found`);
  assert.deepEqual(missing, []);
});

test('every soak file of a fault or a hostile input stands in the table of guarantees', () => {
  const files = globSync('test/{faults,hostile}/*.soak.ts', { cwd: root });
  assert.ok(files.length > 10, `${files.length} files were found`);
  assert.deepEqual(
    files.filter((file) => !named.has(file)),
    [],
  );
});
