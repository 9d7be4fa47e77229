/** docs/operating.md is true: its tables are those of the program, and its commands do what they say. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ENVIRONMENT } from '../../src/kernel/config/environment.ts';
import type { ErrorCatalogue } from '../../src/kernel/http/errors.ts';
import { platformErrors } from '../../src/platform/errors.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { FREE_PORTS, mainFile, makeFolder, openGivenStore, startServer, type Variables } from './server-process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const relayFile = fileURLToPath(new URL('./verb-relay.ts', import.meta.url));
const guide = await readFile(join(root, 'docs', 'operating.md'), 'utf8');

/** Cells of the table whose header begins with this cell. */
function readTable(firstHeader: string): string[][] {
  const lines = guide.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${firstHeader} |`));
  assert.notEqual(start, -1, firstHeader);
  const rows = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith('|')) break;
    rows.push(
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  }
  return rows;
}

/** Fenced blocks of shell commands in order, without the indentation of a list. */
function readCommands(): string[] {
  return [...guide.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

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

test('its commands work, in the order in which it gives them, and its metrics are the ones that are served', async (t) => {
  const folder = await makeFolder(t);
  const store = await openGivenStore(t);
  const server = await startServer(t, folder, store);
  const verbs = await serveVerbs(t, folder, store);
  const commands = readCommands();
  const online = commands.filter((text) => text.includes('http://127.0.0.1:8787'));
  assert.equal(online.length, 1);
  const hasCurl = (await run('curl', ['--version']).catch(() => undefined)) !== undefined;
  for (const text of hasCurl ? online : [])
    await runShell(folder, verbs, text.replaceAll('http://127.0.0.1:8787', server.url));

  const page = await (await fetch(`${server.url}/metrics`)).text();
  const served = [...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
  const documented = readTable('metric').map(([name = '']) => name.replaceAll('`', ''));
  const families = documented.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const own = served.filter((name) => !families.some((family) => name.startsWith(family)));
  assert.deepEqual(documented.filter((name) => !name.endsWith('*')).sort(), own.sort());
  for (const [name] of guide.matchAll(/nodejs_\w*[a-z]/g)) assert.ok(served.includes(name) || name === 'nodejs', name);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });

  for (const text of commands.filter((text) => !online.includes(text))) await runShell(folder, verbs, text);
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

/**
 * Runs the lines as they stand. `npm run --silent ironcraft --` is a small program that has this process run the verb: a process
 * of its own, which the tests of the command line start, would take a second each time.
 */
async function runShell(folder: string, verbs: string, text: string): Promise<void> {
  const npm = `npm() { [ "$1 $2 $3 $4" = "run --silent ironcraft --" ] || return 9; shift 4; "$NODE" "$RELAY" "$@"; }`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, NODE: process.execPath, RELAY: relayFile, VERBS: verbs };
  await run('sh', ['-ec', `${npm}\n${text}`], { cwd: folder, env }).catch((error: unknown) => {
    throw new Error(`this does not work:\n${text}`, { cause: error });
  });
}

/** Runs the verbs that `verb-relay.ts` asks for; gives its address. */
async function serveVerbs(t: TestContext, folder: string, store: Variables): Promise<string> {
  const server = createServer(async (request, response) => {
    const args = (await json(request)) as string[];
    response.end(JSON.stringify(await runVerbInProcess(args, folder, { ...FREE_PORTS, ...store })));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') assert.fail('it listens on a port');
  return `http://127.0.0.1:${address.port}`;
}
