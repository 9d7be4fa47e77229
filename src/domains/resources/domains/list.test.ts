import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { refusal, startOrders } from '../../../../test/support/orders.ts';
import { workspaceDb } from '../../workspace-scope.ts';

const service = await startOrders();
const { fundedWorkspace } = service;
after(() => service.close());

const PRICE = 11.9;
const owner = await fundedWorkspace();
const names = ['b.com', 'a.com', 'xn--bcher-kva.com', 'c-3.com', 'c.com'].map((name) => `list-${name}`);
const sorted = names.toSorted();
for (const domain of names) {
  assert.equal((await owner.post('/domains', { domain, confirm_price: PRICE })).status, 201, domain);
}

async function page(query: string): Promise<[string[], string | null]> {
  const { status, body, text } = await owner.reader.get(`/domains${query}`);
  assert.equal(status, 200, text);
  return [body.domains.map(({ domain }: { domain: string }) => domain), body.next_after];
}

test('the portfolio is listed in alphabetical order, page by page', async () => {
  assert.deepEqual(await page(''), [sorted, null]);
  assert.deepEqual(await page('?limit=2'), [sorted.slice(0, 2), sorted[1]]);
  assert.deepEqual(await page(`?limit=2&after=${sorted[1]}`), [sorted.slice(2, 4), sorted[3]]);
  assert.deepEqual(await page(`?limit=2&after=${sorted[3]}`), [sorted.slice(4), null]);
  assert.deepEqual(await page('?limit=5'), [sorted, null]);
  assert.deepEqual(await page('?after=zzz'), [[], null]);
});

test('a page goes on behind a name that has left meanwhile', async () => {
  const workspace = await fundedWorkspace();
  for (const domain of ['p1.com', 'p2.com', 'p3.com'])
    await workspace.post('/domains', { domain, confirm_price: PRICE });
  const { next_after: after_ } = (await workspace.get('/domains?limit=2')).body;
  await workspace.delete(`/domains/${after_}`);
  const rest = await workspace.get(`/domains?limit=2&after=${after_}`);
  assert.deepEqual(
    rest.body.domains.map(({ domain }: { domain: string }) => domain),
    ['p3.com'],
  );
});

test('bad_request: pages of other sizes', async () => {
  for (const limit of ['0', '-1', '1001', 'x', '1.5']) {
    assert.deepEqual(refusal(await owner.get(`/domains?limit=${limit}`)), [400, 'bad_request'], limit);
  }
});

const operations = [
  ['GET', '', undefined],
  ['POST', '/renew', { confirm_price: PRICE }],
  ['POST', '/transfer', { auth_code: 'x', confirm_price: PRICE }],
  ['DELETE', '', undefined],
] as const;

test('not_found: another workspace’s name answers as one that never existed, whatever is asked, and stays as it is', async () => {
  const other = await fundedWorkspace();
  for (const [method, path, body] of operations.filter(([, at]) => at !== '/transfer')) {
    const ask = async (name: string) => {
      const response = await other.open(method, `/domains/${name}${path}`, body);
      return [response.status, await response.text()] as const;
    };
    const [foreign, never] = [await ask('list-a.com'), await ask('never-registered.com')];
    assert.deepEqual(foreign, never, `${method} ${path}`);
    assert.deepEqual([foreign[0], JSON.parse(foreign[1]).error], [404, 'not_found']);
  }
  // To everybody but its owner such a name is one that cannot be had.
  const transfer = await other.post('/domains/list-a.com/transfer', { auth_code: 'x', confirm_price: PRICE });
  assert.deepEqual(refusal(transfer), [422, 'transfer_failed']);
  assert.deepEqual((await other.get('/domains')).body, { domains: [], next_after: null });
  assert.equal((await owner.get('/domains/list-a.com')).body.status, 'Active');
  assert.deepEqual(await service.balance(other), [100_000, 0]);
});

test('missing_token, invalid_token, revoked_token, insufficient_scope: a caller without the right is refused', async () => {
  const revoked = await service.createWorkspace();
  const db = workspaceDb(service.db, revoked.workspaceId);
  await db.updateTable('tokens').set({ revoked_at: new Date() }).where('scope', '=', 'write').execute();
  const all: [method: string, path: string, body: unknown][] = [
    ...operations.map(([method, path, body]): [string, string, unknown] => [
      method,
      `/domains/list-a.com${path}`,
      body,
    ]),
    ['GET', '/domains', undefined],
    ['POST', '/domains', { domain: 'x.com', confirm_price: PRICE }],
  ];
  for (const [method, path, body] of all) {
    const ask = async (client: typeof service.anybody) => {
      const response = await client.open(method, path, body);
      return [response.status, JSON.parse(await response.text()).error];
    };
    const what = `${method} ${path}`;
    assert.deepEqual(await ask(service.anybody), [401, 'missing_token'], what);
    assert.deepEqual(await ask(service.anybody.as('irn_live_nonsense')), [401, 'invalid_token'], what);
    assert.deepEqual(await ask(revoked), [401, 'revoked_token'], what);
    if (method !== 'GET') assert.deepEqual(await ask(owner.reader), [403, 'insufficient_scope'], what);
  }
  assert.equal((await owner.get('/domains')).body.domains.length, names.length);
});
