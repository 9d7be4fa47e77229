import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDomains, type TestDomains } from '../../../../test/support/domains.ts';
import { type Registry, RegistryUnavailable } from '../../registry/registry.ts';

let service: TestDomains;
before(async () => {
  service = await startDomains({ registry: registryOfFreeNames });
});
after(() => service.close());

/** Only checks, and has every name. */
function registryOfFreeNames(): Registry {
  const silent = () => Promise.reject(new RegistryUnavailable('this registry only checks'));
  const silentMutation = async () => ({ kind: 'unknown', reason: 'this registry only checks' }) as const;
  return {
    kind: 'simulated',
    members: [],
    habitsOf: () => ({ autoRenewGraceDays: undefined, requiredContact: [] }),
    feeOf: async () => undefined,
    launchDemandOf: async () => ({ kind: 'none' }),
    applicationOf: async () => undefined,
    check: async (names) => names.map((name) => ({ name, availability: 'available' })),
    info: silent,
    transferOf: silent,
    decideTransfer: silent,
    create: silentMutation,
    renew: silentMutation,
    transfer: silentMutation,
    trade: silentMutation,
    tradeOf: silent,
    update: silentMutation,
    delete: silentMutation,
    restore: silentMutation,
    start: async () => undefined,
    stop: async () => undefined,
  };
}

test('anyone may ask, and nobody on the way keeps the answer', async () => {
  const { status, body, headers } = await service.anybody.get('/check?q=Example-Name.com');
  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'no-store');
  const price = { currency: 'EUR', register: 11.9, renew: 11.9, transfer: 11.9, min_years: 1, max_years: 10 };
  assert.deepEqual(body, {
    query: 'Example-Name.com',
    results: [{ domain: 'example-name.com', available: true, status: 'available', reason: null, price }],
  });
  const { body: many } = await service.anybody.get('/check?q=b%C3%BCcher');
  assert.deepEqual([many.results.length, many.results[0].unicode], [8, 'bücher.com']);
});

test('what is no name is a bad request that says what to send', async () => {
  const cases: [string, RegExp][] = [
    ['', /required|`q`/],
    ['q=', /`q`/],
    ['q=a&q=b', /`q`/],
    ['q=www.example.com', /send `example\.com`/],
    ['q=https%3A%2F%2Fexample.com', /URL/],
    ['q=two%20words', /GET \/suggest/],
    ['q=co.uk', /label in front/],
    ['q=%00', /control characters/],
    [`q=${'a'.repeat(70)}`, /63/],
    [`q=${'a'.repeat(2000)}`, /at most/],
  ];
  for (const [query, message] of cases) {
    const { status, body } = await service.anybody.get(`/check?${query}`);
    assert.deepEqual([status, body.error, body.details.param], [400, 'bad_request', 'q'], query);
    assert.match(body.details.message, message, query);
  }
});
