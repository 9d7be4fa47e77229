import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { storeTemplate } from '../../src/command-line/migrations.ts';

const run = promisify(execFile);

const STATEMENTS = 90;
const MEBIBYTE = 1_048_576;

/** Opens a store, has it parse statements, before and after a server's garbage is collected, and waits until V8 has compiled what it had begun to. */
const program = (folder: string) => `
  const { connectEmbedded } = await import(${JSON.stringify(new URL('../../src/kernel/db/connect-embedded.ts', import.meta.url).href)});
  const db = await connectEmbedded({ folder: ${JSON.stringify(folder)}, template: ${JSON.stringify(storeTemplate)} });
  const { releaseMemory } = await import(${JSON.stringify(new URL('../../src/command-line/release-memory.ts', import.meta.url).href)});
  for (let n = 0; n < ${STATEMENTS}; n += 1) {
    if (n === ${STATEMENTS / 3}) releaseMemory();
    // Each with a text of its own, which is parsed.
    await db.query({ text: 'select name as n' + n + ' from schema_migrations where service = $1 order by name', values: ['platform'] });
  }
  await db.close();`;

it('PostgreSQL inside is compiled without taking hundreds of megabytes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'engine-'));
  try {
    const traced = ['--trace-wasm-compilation-times', '--input-type=module', '-e', program(folder)];
    const { stdout } = await run(process.execPath, traced, { maxBuffer: 16 * MEBIBYTE });
    assert.match(stdout, /using Liftoff, took/);
    const compiled = [
      ...stdout.matchAll(/using TurboFan, took \d+ ms and (\d+) \/ \d+ max\/total bytes; bodysize (\d+)/g),
    ];
    const large = compiled.filter(([, bytes]) => Number(bytes) > 100 * MEBIBYTE);
    assert.deepEqual(
      large.map(([line]) => line),
      [],
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
