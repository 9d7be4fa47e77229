/** docs/operating.md is true: its tables are those of the program. `one-start.test.ts` runs its commands. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENVIRONMENT } from '../../src/kernel/config/environment.ts';
import type { ErrorCatalogue } from '../../src/kernel/http/errors.ts';
import { platformErrors } from '../../src/platform/errors.ts';
import { guide, readTable, root } from './operating-guide.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { mainFile, makeFolder } from './server-process.ts';

test('the table of the environment is the one of the program', () => {
  assert.deepEqual(
    readTable('variable'),
    ENVIRONMENT.map(({ name, default: fallback, meaning }) => [
      `\`${name}\``,
      fallback === '' ? 'none' : `\`${fallback}\``,
      meaning,
    ]),
  );
});

test('every verb is in the table of verbs', async (t) => {
  const folder = await makeFolder(t);
  const verbs: string[] = [];
  const visit = async (words: readonly string[]): Promise<void> => {
    const nested = listCommands((await runVerbInProcess([...words, '--help'], folder)).stdout);
    if (nested.length === 0) verbs.push(words.join(' '));
    for (const word of nested) await visit([...words, word]);
  };
  await visit([]);
  const documented = readTable('verb').flatMap(([cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, verb]) => verb),
  );
  assert.deepEqual(documented.sort(), verbs.sort());
});

function listCommands(help: string): string[] {
  const section = /^Commands:\n((?: {2}.*\n)+)/m.exec(help)?.[1] ?? '';
  return [...section.matchAll(/^ {2}([\w-]+)/gm)].map(([, name = '']) => name);
}

test('every error code that it names is one of the catalogue, with its status', () => {
  const named = [...guide.matchAll(/(\d{3}) `?([a-z]+(?:_[a-z]+)+)`/g)];
  assert.ok(named.length >= 6);
  const catalogue: ErrorCatalogue = platformErrors;
  for (const [, status, code = ''] of named) assert.equal(catalogue[code]?.status, Number(status), code);
});

test('npm and the service manager run the program alike', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const [variables] = /(?:\w+_=\d+ )+/.exec(scripts.start) ?? assert.fail(scripts.start);
  // Also where a shell has neither `exec` nor `env`.
  assert.match(scripts.ironcraft, /^node (?:--\S+ )*src\/main\.js$/);
  // `exec`, so that a signal to npm reaches the server itself.
  assert.equal(scripts.start, `exec env ${variables}${scripts.ironcraft} serve`);
  assert.equal(/^Environment=(.*)$/m.exec(guide)?.[1], variables.trim());
  assert.equal(/^ExecStart=(.*)$/m.exec(guide)?.[1], `/srv/ironcraft/node_modules/.bin/${scripts.ironcraft} serve`);
  const [firstLine] = (await readFile(mainFile, 'utf8')).split('\n');
  assert.equal(firstLine, `#!/usr/bin/env -S ${variables}${scripts.ironcraft.replace(' src/main.js', '')}`);
});
