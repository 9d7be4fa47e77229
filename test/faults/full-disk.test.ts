/** A server on the embedded store whose disk is full: a small file system of the test's own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder, startServer, waitFor } from '../boot/server-process.ts';
import { createClient } from '../support/platform.ts';
import { NEEDS_NO_SERVER } from './fleet.ts';

const PATIENCE_MS = 30_000;

const mayMount = process.platform === 'linux' && process.getuid?.() === 0;
const skip = NEEDS_NO_SERVER || (mayMount ? false : 'needs a file system of its own, mounted as root');

test('while the disk is full writes answer 503, reads are answered, and with room again everything is', {
  skip,
}, async (t) => {
  const run = (...words: string[]) => spawnSync(words[0] ?? '', words.slice(1)).status;
  const folder = await makeFolder(t);
  const disk = await makeFolder(t);
  assert.equal(run('mount', '-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', disk), 0);
  try {
    const server = await startServer(t, folder, { IRONCRAFT_DATA_DIR: disk }, { only: 'platform' });
    const client = createClient(server.url, server.credentials.tenant_token);
    const smith = () => ({ model: 'builtin/demo', metadata: { text: randomBytes(6_000).toString('base64') } });
    assert.equal((await client.post('/v1/smiths', smith())).status, 201);

    fill(join(disk, 'ballast'));
    const refused = await waitFor('a refused write', PATIENCE_MS, async () => {
      const answer = await client.post('/v1/smiths', smith());
      return answer.status === 201 ? undefined : answer;
    });
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'storage_unavailable'], refused.text);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal((await client.get('/v1/smiths')).status, 200);
    const unready = await fetch(`${server.url}/readyz`);
    assert.equal(unready.status, 503);
    assert.equal(((await unready.json()) as { checks: { files: string } }).checks.files, 'failed');

    rmSync(join(disk, 'ballast'));
    await waitFor('a ready answer', PATIENCE_MS, async () => (await fetch(`${server.url}/readyz`)).ok || undefined);
    assert.equal((await client.post('/v1/smiths', smith())).status, 201);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  } finally {
    run('umount', '-l', disk);
  }
});

/** Writes until nothing more fits. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  const block = Buffer.alloc(65_536, 1);
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    assert.equal(Object(error).code, 'ENOSPC');
  } finally {
    closeSync(file);
  }
}
