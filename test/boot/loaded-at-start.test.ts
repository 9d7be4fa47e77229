/** What a server that serves nothing yet has loaded: each of these costs every start its time, and every process its memory. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder, openGivenStore, startServer } from './server-process.ts';

const preloaded = new URL('./report-loaded.js', import.meta.url).href;

/** Of the packages that are loaded when they are first used, those that are large. */
const LATER = [
  ...['@ai-sdk/anthropic', '@ai-sdk/openai', '@modelcontextprotocol/client', '@modelcontextprotocol/server'],
  ...['@slack/web-api', 'ajv', 'grammy', 'mailauth', 'nodemailer', 'stripe', 'tldts'],
  ...['@fastify/fast-json-stringify-compiler', 'typebox', 'undici', 'yauzl', 'yazl'],
];

test('a start that finds its modules compiled loads nothing that only later work needs', async (t) => {
  const folder = await makeFolder(t);
  const variables = {
    ...(await openGivenStore(t)),
    NODE_OPTIONS: `--import=${preloaded}`,
    LOADED_FILE: join(folder, 'loaded.json'),
    // The program's own choice of a folder is what is tried.
    NODE_COMPILE_CACHE: '',
  };
  // The first one compiles what no start before has.
  await (await startServer(t, folder, variables)).stop();
  await (await startServer(t, folder, variables)).stop();
  const { packages, ofNode }: { packages: string[]; ofNode: string[] } = JSON.parse(
    await readFile(variables.LOADED_FILE, 'utf8'),
  );
  assert.ok(packages.includes('fastify'));
  assert.deepEqual(
    packages.filter((name) => LATER.includes(name)),
    [],
  );
  // What strips types, and Node's own fetch.
  assert.deepEqual(
    ofNode.filter((name) => /deps\/(?:amaro|undici)/.test(name)),
    [],
  );
});
