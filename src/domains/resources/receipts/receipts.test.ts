import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { extractText, getDocumentProxy } from 'unpdf';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { refusal, startOrders } from '../../../../test/support/orders.ts';
import { createLogger } from '../../../kernel/log/log.ts';
import { issueReceipts, type Seller } from '../../receipts/index.ts';
import { splitVat } from '../../receipts/seller.ts';
import { createStripePayments } from '../../wallet/payments/stripe-payments.ts';
import type { Receipt } from './schema.ts';

const stripe = await startStripe();
const service = await startOrders({
  payments: createStripePayments({
    secretKey: stripe.secretKey,
    apiUrl: stripe.url,
    returnUrl: 'https://shop.example/done',
    logger: createLogger({ logLevel: 'silent' }),
  }),
});
const { clock, db } = service;
after(async () => {
  await service.close();
  await stripe.close();
});

const seller: Seller = { lines: ['Example Łódź GmbH', 'Mill Lane 1', 'VAT DE123'], vatBasisPoints: 1_900 };
const issue = () => issueReceipts({ db, clock, seller });
const CENTS = 1_190;
const visa = { confirm_price: 11.9, payment_method: 'pm_card_visa' };

async function buy(workspace: TestWorkspace, domain: string): Promise<void> {
  const { status, text } = await workspace.post('/domains', { domain, ...visa });
  assert.ok(status === 201 || status === 422, text);
}

async function receiptsOf(workspace: TestWorkspace): Promise<Receipt[]> {
  const { status, body, text } = await workspace.reader.get('/receipts');
  assert.equal(status, 200, text);
  return body.receipts;
}

async function download(workspace: TestWorkspace, id: string): Promise<[text: string, bytes: Buffer]> {
  const response = await workspace.open('GET', `/receipts/${id}/pdf`);
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/pdf']);
  const bytes = Buffer.from(await response.arrayBuffer());
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(bytes)), { mergePages: true });
  return [text, bytes];
}

describe('a payment', () => {
  test('has one receipt, whatever the number of processes that issue them', async () => {
    const workspace = await service.createWorkspace();
    await buy(workspace, 'receipt.com');
    await Promise.all([issue(), issue(), issue()]);
    await issue();
    const [receipt, ...others] = await receiptsOf(workspace);
    assert.deepEqual(others, []);
    assert.ok(receipt);
    const { description, total_cents, net_cents, vat_cents, vat_percent, refunds_number } = receipt;
    assert.deepEqual(
      { description, total_cents, net_cents, vat_cents, vat_percent, refunds_number },
      {
        description: 'Registration of receipt.com, 1 year',
        total_cents: CENTS,
        net_cents: 1_000,
        vat_cents: 190,
        vat_percent: 19,
        refunds_number: null,
      },
    );
    assert.deepEqual((await workspace.get(`/receipts/${receipt.id}`)).body, receipt);
  });

  test('by the wallet, and money that the operator credits, have none', async () => {
    const workspace = await service.fundedWorkspace();
    await workspace.post('/domains', { domain: 'wallet-pays.com', confirm_price: 11.9 });
    await issue();
    assert.deepEqual(await receiptsOf(workspace), []);
  });

  test('that is given back has a second receipt, of the same amount less than nothing', async () => {
    const workspace = await service.createWorkspace();
    await buy(workspace, 'refuse-receipt.com');
    await service.later(0);
    await issue();
    const [refund, charge, ...others] = await receiptsOf(workspace);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [refund?.total_cents, refund?.net_cents, refund?.vat_cents, refund?.refunds_number],
      [-CENTS, -1_000, -190, charge?.number],
    );
    const [text] = await download(workspace, refund?.id ?? '');
    assert.match(
      text,
      new RegExp(`Credit note ${refund?.number}.*Refund of receipt ${charge?.number}.*-11\\.90 EUR`, 's'),
    );
  });
});

test('a refund has the VAT of what it gives back, whatever the rate is by now', async () => {
  const workspace = await service.createWorkspace();
  await buy(workspace, 'refuse-vat.com');
  await issue();
  await service.later(0);
  await issueReceipts({ db, clock, seller: { ...seller, vatBasisPoints: 2_500 } });
  const [refund, charge, ...others] = await receiptsOf(workspace);
  assert.deepEqual(others, []);
  assert.deepEqual([charge?.vat_cents, charge?.vat_percent], [190, 19]);
  assert.deepEqual([refund?.total_cents, refund?.vat_cents, refund?.vat_percent], [-CENTS, -190, 19]);
});

test('the PDF says who sold what to whom, with its VAT, and is the same each time', async () => {
  const workspace = await service.createWorkspace();
  await workspace.patch('/registrant', { name: 'Zoë Ångström', contact: { city: 'Malmö', country: 'SE' } });
  await buy(workspace, 'pdf.com');
  await issue();
  const [receipt] = await receiptsOf(workspace);
  const [text, bytes] = await download(workspace, receipt?.id ?? '');
  for (const part of [
    'Example Lódz GmbH',
    'VAT DE123',
    'Zoë Ångström',
    'Malmö',
    `Receipt ${receipt?.number}`,
    receipt?.issued_at.slice(0, 10) ?? '?',
    'Registration of pdf.com, 1 year',
    '10.00 EUR',
    'VAT 19 %',
    '1.90 EUR',
    '11.90 EUR',
  ]) {
    assert.ok(text.includes(part), `${part} is not in: ${text}`);
  }
  // What its owner is called afterwards changes nothing of it.
  await workspace.patch('/registrant', { name: 'Somebody Else' });
  assert.deepEqual((await download(workspace, receipt?.id ?? ''))[1], bytes);
});

test('numbers have no gaps in a year, over workspaces and those who fail, and begin anew with the next', async () => {
  const workspaces = await Promise.all([service.createWorkspace(), service.createWorkspace()]);
  for (const [index, workspace] of workspaces.entries()) {
    for (const number of [1, 2]) await buy(workspace, `gap-${index}-${number}.com`);
  }
  // The row is refused after its number was taken.
  const beyond = { ...seller, vatBasisPoints: 3_000_000_000 };
  for (const _ of workspaces) await assert.rejects(issueReceipts({ db, clock, seller: beyond }), /integer/);
  await Promise.all([issue(), issue()]);
  const { rows } = await db.query<{ number: string }>({ text: 'select number from domains.receipts order by number' });
  const year = clock.now().getUTCFullYear();
  assert.deepEqual(
    rows.map(({ number }) => number),
    rows.map((_, index) => `${year}-${String(index + 1).padStart(6, '0')}`),
  );
  clock.advance(366 * 86_400_000);
  const [workspace] = workspaces;
  await buy(workspace, 'next-year.com');
  await issue();
  assert.equal((await receiptsOf(workspace))[0]?.number, `${year + 1}-000001`);
});

test('net and VAT are the total to the cent, for every rate', () => {
  const cases: [total: number, rate: number, net: number][] = [
    [1_190, 1_900, 1_000],
    [1, 1_900, 1],
    [3, 10_000, 2],
    [999, 810, 924],
    [-999, 810, -924],
    [1_000, 0, 1_000],
    [100_000_000, 2_550, 79_681_275],
  ];
  for (const [total, rate, net] of cases) {
    assert.deepEqual(splitVat(total, rate), { netCents: net, vatCents: total - net });
  }
});

test('without a seller there are no receipts; earlier payments have theirs once there is one', async () => {
  const workspace = await service.createWorkspace();
  await buy(workspace, 'early.com');
  await issueReceipts({ db, clock, seller: undefined });
  assert.deepEqual(await receiptsOf(workspace), []);
  await issue();
  assert.equal((await receiptsOf(workspace)).length, 1);
});

test('not_found: a receipt of another workspace is as one that never was', async () => {
  const [one, other] = [await service.createWorkspace(), await service.createWorkspace()];
  await buy(one, 'foreign-receipt.com');
  await issue();
  const [receipt] = await receiptsOf(one);
  for (const path of ['', '/pdf']) {
    const foreign = await other.get(`/receipts/${receipt?.id}${path}`);
    assert.deepEqual(refusal(foreign), [404, 'not_found']);
    assert.equal(foreign.text, (await other.get(`/receipts/rcp_0${path}`)).text);
  }
  assert.deepEqual(await receiptsOf(other), []);
});
