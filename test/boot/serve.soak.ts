/** A server that is started again on its embedded store. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { call, makeFolder, startServer } from './server-process.ts';

test('a restart keeps credentials and data', async (t) => {
  const folder = await makeFolder(t);
  const first = await startServer(t, folder);
  const { tenant_token } = first.credentials;
  const created = await call(first.url, tenant_token, '/v1/customers', { name: 'Kept' });
  assert.equal(created.status, 201);
  const credentials = await readFile(join(first.dataDir, 'credentials.json'), 'utf8');
  assert.deepEqual(await first.stop(), { code: 0, signal: null });

  const again = await startServer(t, folder);
  assert.equal(await readFile(join(again.dataDir, 'credentials.json'), 'utf8'), credentials);
  const kept = await call(again.url, tenant_token, '/v1/customers');
  const { data } = (await kept.json()) as { data: { name: string }[] };
  assert.deepEqual(
    data.map(({ name }) => name),
    ['Kept'],
  );
  assert.deepEqual(await again.stop(), { code: 0, signal: null });
});
