/** What is offered can be bought, at the price that is told, over EPP. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../../test/support/domains-over-epp.ts';
import { DAY_MS } from '../../../../test/support/simulated-registry.ts';
import { createPriceBook, standardPriceBook } from '../../prices/price-book.ts';
import { offeredTlds } from '../../prices/tlds.ts';

const sold = standardPriceBook(['com', 'co.uk']);
const special = {
  premium: new Map([
    ['gold.com', 10_000],
    ['silver.com', 5_000],
    ['moved.com', 20_000],
  ]),
  reserved: new Set(['registry-only.com']),
};
const prices = {
  ...sold,
  isReserved: createPriceBook({ tlds: [], rates: new Map(), reserved: new Set(['kept', 'ours.com']) }).isReserved,
};
const service = await startDomainsOverEpp({ prices, special, fees: {} });
after(() => service.close());
const { anybody, epp } = service;

async function checkOne(name: string) {
  const { body } = await anybody.get(`/check?q=${name}`);
  const [{ status, reason, price }] = body.results;
  return { status, reason, price };
}

test('only TLDs that a registry here sells are offered, listed and suggested', async () => {
  const { status, reason, price } = await checkOne('anything.net');
  assert.deepEqual([status, price], ['unsupported_tld', null]);
  assert.match(reason, /\.net.*GET \/tlds/);
  const { body: report } = await anybody.get('/check?q=anything');
  assert.deepEqual(
    report.results.map(({ domain, status: each }: { domain: string; status: string }) => [domain, each]),
    [['anything.com', 'available']],
  );
  const { body: list } = await anybody.get('/tlds');
  assert.deepEqual(
    list.tlds.map(({ tld }: { tld: string }) => tld),
    ['com', 'co.uk'],
  );
  const { body: suggested } = await anybody.get('/suggest?q=blue%20cafe&limit=50');
  assert.ok(suggested.suggestions.length > 0);
  assert.deepEqual(
    suggested.suggestions.filter((name: string) => !/\.(com|co\.uk)$/.test(name)),
    [],
  );
  const owner = await service.owner();
  const { status: code, body } = await owner.post('/domains', { domain: 'anything.net', confirm_price: 13.9 });
  assert.deepEqual([code, body.error, body.details.param], [400, 'bad_request', 'domain']);
});

test('a premium name costs what its registry asks, with the margin, and nothing less buys it', async () => {
  const { status, price } = await checkOne('gold.com');
  assert.equal(status, 'available');
  assert.deepEqual(price, {
    ...{ currency: 'EUR', register: 120, renew: 120, transfer: 120, min_years: 1, max_years: 10, premium: true },
  });
  const owner = await service.owner();
  const refused = await owner.post('/domains', { domain: 'gold.com', confirm_price: 11.9 });
  assert.deepEqual(
    [refused.status, refused.body.error, refused.body.details.current_price],
    [409, 'price_changed', 120],
  );
  const two = await owner.post('/domains', { domain: 'gold.com', confirm_price: 120, duration: 2 });
  assert.deepEqual([two.status, two.body.details.current_price], [409, 240]);
  const bought = await owner.post('/domains', { domain: 'gold.com', confirm_price: 120 });
  assert.deepEqual([bought.status, bought.body.status, bought.body.price], [201, 'Completed', 120]);
});

test('a premium name is renewed at its own price, by hand and by itself', async () => {
  const owner = await service.owner();
  await owner.post('/domains', { domain: 'silver.com', confirm_price: 60 });
  const shown = await owner.get('/domains/silver.com');
  assert.equal(shown.body.renewal.price, 60);
  const refused = await owner.post('/domains/silver.com/renew', { confirm_price: 11.9 });
  assert.deepEqual(
    [refused.status, refused.body.error, refused.body.details.current_price],
    [409, 'price_changed', 60],
  );
  const renewed = await owner.post('/domains/silver.com/renew', { confirm_price: 60 });
  assert.deepEqual([renewed.status, renewed.body.price], [200, 60]);

  await service.later(0);
  epp.clock.advance(705 * DAY_MS);
  await service.domains.renewals.runDue();
  const after = await owner.get('/domains/silver.com');
  assert.deepEqual([after.body.renewal.term, after.body.renewal.price], ['renewed', 60]);
});

test('a renewal price that has changed is shown before it is charged', async () => {
  const owner = await service.owner();
  await owner.post('/domains', { domain: 'moved.com', confirm_price: 240 });
  special.premium.set('moved.com', 30_000);
  epp.clock.advance(340 * DAY_MS);
  await service.domains.renewals.runDue();
  const shown = await owner.get('/domains/moved.com');
  assert.deepEqual([shown.body.renewal.term, shown.body.renewal.price], ['charging', 360]);
  await service.domains.renewals.runDue();
  assert.equal((await owner.get('/domains/moved.com')).body.renewal.term, 'renewed');
});

test('reserved names are not available, with a reason, and are not sold', async () => {
  const here = /not sold here/;
  const there = /keeps this name back/;
  for (const [name, why] of [
    ['kept.com', here],
    ['kept.co.uk', here],
    ['ours.com', here],
    ['registry-only.com', there],
  ] as const) {
    const { status, reason } = await checkOne(name);
    assert.equal(status, 'reserved', name);
    assert.match(reason, why);
    const owner = await service.owner();
    const { status: code, body } = await owner.post('/domains', {
      domain: name,
      confirm_price: name.endsWith('com') ? 11.9 : 8.9,
    });
    assert.deepEqual([code, body.error], [422, 'registration_failed'], name);
  }
  assert.equal((await checkOne('ours.co.uk')).status, 'available');
});

test('a name in a currency without a rate is not offered, and one that is only dearer than its cost is premium', () => {
  const [terms] = offeredTlds;
  assert.ok(terms !== undefined);
  const at = new Date('2026-03-01T00:00:00Z');
  const period = {
    from: undefined,
    retail: terms,
    margin: { percent: 10, cents: 50 },
    costs: { currency: 'USD', create: 900 },
  };
  const book = createPriceBook({
    tlds: [{ terms, periods: [period], promotions: [] }],
    rates: new Map([['USD', 0.9]]),
    reserved: new Set(),
  });
  const fee = (currency: string, cents: number) => ({ command: 'create', years: 1, fee: { currency, cents } }) as const;
  assert.equal(book.isPremium('com', fee('USD', 900), at), false);
  assert.equal(book.isPremium('com', fee('USD', 901), at), true);
  assert.equal(book.isPremium('com', fee('USD', 1_800), at), true);
  const standard = (cents: number) =>
    ({ command: 'create', years: 1, fee: { currency: 'USD', cents, isPremium: false } }) as const;
  assert.equal(book.isPremium('com', standard(900), at), false);
  assert.equal(book.isPremium('com', standard(901), at), false, 'the list price covers it');
  assert.equal(book.isPremium('com', standard(1_800), at), true, 'the price of ordinary names has risen');
  assert.equal(book.premiumCents('com', fee('USD', 10_000), at), 9_950);
  assert.equal(book.premiumCents('com', fee('CHF', 10_000), at), undefined);
});
