/** What a server calls itself when its address or its folder is not a plain one. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { makeFolder, openGivenStore, startServer } from './server-process.ts';

const run = promisify(execFile);
const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

test('an IPv6 address is bracketed, a folder name is quoted, and clients get the public URL', async (t) => {
  if (!hasIpv6) return t.skip('this machine has no IPv6');
  const folder = join(await makeFolder(t), "it's a folder");
  await mkdir(folder);
  const server = await startServer(
    t,
    folder,
    {
      ...(await openGivenStore(t)),
      IRONCRAFT_HOST: '::1',
      IRONCRAFT_PUBLIC_URL: 'https://agents.example.com/',
    },
    { only: 'platform' },
  );
  assert.match(server.url, /^http:\/\/\[::1\]:\d+$/);
  assert.match(server.stdout(), /^Ironcraft is ready at https:\/\/agents\.example\.com$/m);
  assert.equal(server.credentials.base_url, 'https://agents.example.com');
  if ((await run('curl', ['--version']).catch(() => undefined)) !== undefined) {
    const lines = server.stdout().split('\n');
    const pasted = lines.slice(lines.findIndex((line) => line.startsWith('TOKEN=')));
    const script = pasted.slice(0, pasted.indexOf('')).join('\n');
    const { stdout } = await run('sh', ['-c', script]);
    assert.match(stdout, /^event: run\.completed$/m);
  }
  await server.stop();
});
