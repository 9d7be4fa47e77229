/** What calls answer where a registry stands behind them, over EPP: nothing that a cache may keep, and refusals of the service's own. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';

const service = await startDomainsOverEpp({ special: { premium: new Map([['gold.com', 50_000]]) } });
after(() => service.close());

test('prices and suggestions are kept by no cache, whether the registry answers or not', async () => {
  const ask = async (...paths: readonly string[]) => {
    for (const path of paths) {
      const { headers, status } = await fetch(`${service.url}${path}`);
      assert.equal(status, 200, path);
      assert.match(headers.get('cache-control') ?? '', /^(private, )?no-store$/, path);
    }
  };
  await ask('/tlds', '/suggest?q=gold', '/check?q=gold.com');
  service.deliver(() => ({ kind: 'refused', code: 2400 }));
  await ask('/tlds', '/suggest?q=other', '/check?q=other.com');
  service.deliver(undefined);
});

test('who holds a name, and its DS records, are kept by no cache', async () => {
  const workspace = await service.owner('kept-by-none.com');
  for (const path of ['/registrant', '/domains/kept-by-none.com/ds']) {
    const { headers, status } = await workspace.get(path);
    assert.deepEqual([status, headers.get('cache-control')], [200, 'private, no-store'], path);
  }
});

test('transfer_failed: an auth code that EPP cannot carry is not sent, and the refusal says so', async () => {
  const workspace = await service.owner();
  const body = { auth_code: 'control\u0001', confirm_price: 11.9 };
  const { body: refused, status } = await workspace.post('/domains/taken-shop.com/transfer', body);
  assert.deepEqual([status, refused.error], [422, 'transfer_failed']);
  assert.match(refused.details.message, /^Not sent: pw holds a character that XML cannot carry\./);
});

test('bad_request: a query that is too long, of a name that is registered, deletes nothing', async () => {
  const workspace = await service.owner('long-query.com');
  const zone = '/domains/long-query.com/zone';
  const record = { subdomain: 'www', type: 'TXT', value: 'kept' };
  assert.equal((await workspace.post(zone, record)).status, 201);
  const deleteWith = (value: string) => workspace.delete(`${zone}?${new URLSearchParams({ ...record, value })}`);
  for (const length of [5_000, 20_000]) {
    const { body, status } = await deleteWith('x'.repeat(length));
    assert.deepEqual([status, body.error, typeof body.details.message], [400, 'bad_request', 'string'], String(length));
  }
  assert.ok((await workspace.get(zone)).text.includes('kept'));
  assert.equal((await deleteWith('kept')).status, 200);
});

test('the description says that tokens are opaque', async () => {
  const document = JSON.parse(await fetch(`${service.url}/openapi.json`).then((response) => response.text()));
  assert.deepEqual(document.components.securitySchemes.bearer, {
    ...document.components.securitySchemes.bearer,
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'opaque',
  });
});
