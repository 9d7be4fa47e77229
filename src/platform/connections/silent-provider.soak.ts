/** What the gate does not wait for: ten seconds, after which a provider that says nothing is given up. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../test/conformance/assert-refusal.ts';
import { startPlatform } from '../../../test/support/platform.ts';

const provider = createServer(() => undefined).listen(0, '127.0.0.1');
await once(provider, 'listening');
const host = `127.0.0.1:${(provider.address() as AddressInfo).port}`;
const platform = await startPlatform({ outboundAllow: [host] });
after(async () => {
  await platform.close();
  provider.closeAllConnections();
  provider.close();
});

test('a provider that does not answer a refresh changes nothing of the account', async () => {
  const p = await platform.createProject();
  const saved = await p.put('/v1/tenant/providers/silent', {
    client_id: 'client',
    authorization_endpoint: `http://${host}/authorize`,
    token_endpoint: `http://${host}/token`,
  });
  assert.equal(saved.status, 200, saved.text);
  const list = `/v1/smiths/${await p.createSmith()}/connections`;
  const credential = { kind: 'oauth2', access_token: 'access', refresh_token: 'refresh' };
  const stored = await p.post(list, { provider: 'silent', credential });
  const path = `${list}/${stored.body.id}`;
  const { body: before } = await p.get(path);
  assertRefusal(await p.post(`${path}/refresh`), 502, 'refresh_failed');
  const { body: now } = await p.get(path);
  assert.deepEqual(now, before);
  assert.equal(now.status, 'active');
});
