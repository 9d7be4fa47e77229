/** What calls answer where a registry stands behind them, over EPP: nothing that a cache may keep, and refusals of the service's own. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { done, testContact } from '../../../test/support/simulated-registry.ts';

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

for (const character of ['\u0001', '\ud800', '\ufffe', '\u0000', '\r', '\n', '\t']) {
  const number = character.charCodeAt(0).toString(16);
  test(`bad_request: an auth code with the character ${number}, which EPP does not carry as it is, makes no order`, async () => {
    const workspace = await service.owner();
    const body = { auth_code: `control${character}`, confirm_price: 11.9 };
    const { body: refused, status, text } = await workspace.post('/domains/taken-shop.com/transfer', body);
    assert.deepEqual([status, refused.error, refused.details.param], [400, 'bad_request', 'auth_code'], text);
    assert.deepEqual((await workspace.get('/orders')).body.orders, []);
  });
}

test('an auth code of marks that XML writes otherwise arrives as it was sent', async () => {
  const { core, theirs } = service.epp;
  const code = `]]><b>&amp;"'a1B`;
  await core.createContact(theirs, testContact('MARKS'));
  done(await core.createDomain(theirs, { name: 'marks.com', years: 1, registrant: 'MARKS', authInfo: code }));
  const workspace = await service.owner();
  const { status, text } = await workspace.post('/domains/marks.com/transfer', {
    auth_code: code,
    confirm_price: 11.9,
  });
  assert.equal(status, 201, text);
});

test('bad_request: texts of a registrant that EPP cannot carry are not kept', async () => {
  const workspace = await service.owner();
  for (const bad of ['a\u0001b', '\ud800', 'x\ufffe', 'a\rb']) {
    for (const change of [
      { name: bad },
      ...['street', 'city', 'organization'].map((of) => ({ contact: { [of]: bad } })),
    ]) {
      const { body, status, text } = await workspace.patch('/registrant', change);
      assert.deepEqual([status, body.error], [400, 'bad_request'], text);
    }
  }
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
