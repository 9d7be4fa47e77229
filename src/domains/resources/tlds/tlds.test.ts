import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDomains, type TestDomains } from '../../../../test/support/domains.ts';
import { termsOf } from '../../../../test/support/prices.ts';
import { parsePrice } from '../../prices/money.ts';
import { priceCents } from '../../prices/price.ts';
import { offeredTlds } from '../../prices/tlds.ts';

let service: TestDomains;
before(async () => {
  service = await startDomains();
});
after(() => service.close());

test('every TLD on offer is listed with the prices that spending calls confirm', async () => {
  const { status, body, headers } = await service.anybody.get('/tlds');
  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'private, no-store');
  assert.equal(body.currency, 'EUR');
  assert.deepEqual(
    body.tlds.map(({ tld }: { tld: string }) => tld),
    offeredTlds.map(({ tld }) => tld),
  );
  for (const { tld, register, renew, transfer, trade, min_years: years, ...rest } of body.tlds) {
    assert.equal(parsePrice(register), priceCents(termsOf(tld), 'registration', years) / years);
    assert.equal(parsePrice(renew), priceCents(termsOf(tld), 'renewal', rest.renew_min_years) / rest.renew_min_years);
    assert.equal(parsePrice(transfer), priceCents(termsOf(tld), 'transfer', rest.transfer_years));
    assert.equal(parsePrice(trade), priceCents(termsOf(tld), 'trade', 0));
  }
});

test('a TLD’s terms stand beside its prices', async () => {
  const { body } = await service.anybody.get('/tlds');
  assert.deepEqual(
    body.tlds.find(({ tld }: { tld: string }) => tld === 'ai'),
    {
      ...{ tld: 'ai', register: 79.9, renew: 79.9, transfer: 159.8, trade: 0, min_years: 2, max_years: 10 },
      ...{ renew_min_years: 2, renew_max_years: 10, transfer_years: 2, max_term_years: 10 },
      ...{ deletes: 'at_once', grace_days: 30, redemption_days: 30 },
    },
  );
});
