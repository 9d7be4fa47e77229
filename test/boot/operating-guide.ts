/** docs/operating.md, and a shell in which its commands run. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Cleanup } from '../faults/fleet.ts';

const run = promisify(execFile);
export const root = fileURLToPath(new URL('../../', import.meta.url));
const relayFile = fileURLToPath(new URL('./verb-relay.ts', import.meta.url));
export const guide = await readFile(join(root, 'docs', 'operating.md'), 'utf8');

/** Cells of the table whose header begins with this cell. */
export function readTable(firstHeader: string): string[][] {
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
export function readCommands(): string[] {
  return [...guide.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/**
 * Runs the lines as they stand. `npm run --silent ironcraft --` is a small program that has this process run the verb: a process
 * of its own, which the tests of the command line start, would take a second each time.
 */
export async function runShell(folder: string, verbs: string, text: string): Promise<void> {
  const npm = `npm() { [ "$1 $2 $3 $4" = "run --silent ironcraft --" ] || return 9; shift 4; "$NODE" "$RELAY" "$@"; }`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, NODE: process.execPath, RELAY: relayFile, VERBS: verbs };
  await run('sh', ['-ec', `${npm}\n${text}`], { cwd: folder, env }).catch((error: unknown) => {
    throw new Error(`this does not work:\n${text}`, { cause: error });
  });
}

type RunVerb = (args: readonly string[]) => Promise<{ code: number | null; stdout: string; stderr: string }>;

/** Runs the verbs that `verb-relay.ts` asks for; gives its address. */
export async function serveVerbs(t: Cleanup, runVerb: RunVerb): Promise<string> {
  const server = createServer(async (request, response) => {
    response.end(JSON.stringify(await runVerb((await json(request)) as string[])));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') assert.fail('it listens on a port');
  return `http://127.0.0.1:${address.port}`;
}
