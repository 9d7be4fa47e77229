/** What a server that serves nothing yet has loaded: each package costs every start its time, and every process its memory. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServerProcess, type Variables, waitFor } from './server-process.ts';

const preloaded = new URL('./report-loaded.js', import.meta.url).href;
const WRITTEN_MS = 60_000;

/** Large packages that are loaded when they are first used. */
const LATER = [
  ...['@ai-sdk/anthropic', '@ai-sdk/openai', '@modelcontextprotocol/client', '@modelcontextprotocol/server'],
  ...['@slack/web-api', 'ajv', 'grammy', 'mailauth', 'nodemailer', 'stripe', 'tldts'],
  ...['@fastify/fast-json-stringify-compiler', 'typebox', 'undici', 'yauzl', 'yazl'],
];

/** Settings of a server that `readLoaded` can ask. */
export function reportsLoaded(folder: string): Variables {
  return { NODE_OPTIONS: `--import=${preloaded}`, LOADED_FILE: join(folder, 'loaded.json') };
}

/** Modules of Node itself that a server has loaded, once none of its packages is one that only later work needs. */
export async function readLoaded(server: ServerProcess, { LOADED_FILE = '' }: Variables): Promise<readonly string[]> {
  server.kill('SIGUSR2');
  await waitFor('list of what is loaded', WRITTEN_MS, async () => existsSync(LOADED_FILE) || undefined);
  const { packages, ofNode }: { packages: string[]; ofNode: string[] } = JSON.parse(
    await readFile(LOADED_FILE, 'utf8'),
  );
  assert.ok(packages.includes('fastify'));
  assert.deepEqual(
    packages.filter((name) => LATER.includes(name)),
    [],
  );
  return ofNode;
}
