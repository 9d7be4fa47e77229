/**
 * Runs the tests that use a store on the PostgreSQL server of IRONCRAFT_TEST_DATABASE_URL: the files from which imports
 * lead to the tests' database or to a fleet of servers. The others do the same on every store, and `npm test` has run them.
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const STORES = ['test/support/database.ts', 'test/faults/fleet.ts'].map((path) => join(root, path));
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g;

const known = new Map<string, boolean>(STORES.map((path) => [path, true]));

function reachesStore(path: string): boolean {
  const found = known.get(path);
  if (found !== undefined) return found;
  // A circle leads nowhere new, and what looks like an import may stand in a text.
  known.set(path, false);
  if (!existsSync(path)) return false;
  const imports = [...readFileSync(path, 'utf8').matchAll(IMPORT)].map((match) => join(dirname(path), match[1] ?? ''));
  const reaches = imports.some(reachesStore);
  known.set(path, reaches);
  return reaches;
}

const files = globSync('{src,test}/**/*.test.ts', { cwd: root }).filter((file) => reachesStore(join(root, file)));
const options = ['--test', '--test-concurrency=2', '--test-timeout=600000'];
const child = spawn(process.execPath, [...options, ...files.sort()], { cwd: root, stdio: 'inherit' });
child.once('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 1;
});
