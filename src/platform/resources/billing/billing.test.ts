/** The organization's wallet over HTTP: what is paid into it, and by whom. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type Answer, type Client, startPlatform } from '../../../../test/support/platform.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { auditWallets, createBilling, mintCodes } from '../../billing/index.ts';

const STARTER_CENTS = 500;
const platform = await startPlatform({ billing: { starterCents: STARTER_CENTS } });
const { stripe, db, url } = platform;
after(async () => {
  assert.deepEqual(await auditWallets(db), []);
  await platform.close();
});

const BILLING = '/v1/organization/billing';
const return_url = 'https://example.com/billing?tab=credits#top';

async function newOrganization(): Promise<Client> {
  return (await platform.createOrganization()).client;
}

async function openPage(organization: Client, page: 'setup' | 'checkout', body: object = {}): Promise<string> {
  const opened = await organization.post(`${BILLING}/${page}`, { return_url, ...body });
  assert.equal(opened.status, 200, opened.text);
  return new URL(opened.body.url).pathname.split('/').at(-1) ?? '';
}

const confirm = (organization: Client, session_id: string) => organization.post(`${BILLING}/confirm`, { session_id });

/** With a saved card of this behaviour. */
async function withCard(behaviour?: string): Promise<{ organization: Client; cardId: string }> {
  const organization = await newOrganization();
  const session = await openPage(organization, 'setup');
  const { id } = stripe.saveCard(session, behaviour);
  assert.equal((await confirm(organization, session)).status, 200);
  return { organization, cardId: id };
}

async function balanceOf(organization: Client): Promise<number> {
  return (await organization.get(`${BILLING}/balance`)).body.balance_cents;
}

async function ledgerOf(organization: Client): Promise<[kind: string, cents: number][]> {
  const { body } = await organization.get(`${BILLING}/ledger`);
  return body.data.map(({ kind, amount_cents }: { kind: string; amount_cents: number }) => [kind, amount_cents]);
}

/** Sends an event as Stripe does. */
async function sendEvent(type: string, object: object, options: Parameters<typeof stripe.signEvent>[2] = {}) {
  const { body, headers } = stripe.signEvent(type, object, options);
  return post(body, headers);
}

async function post(body: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(`${url}/v1/billing/stripe/webhook`, { method: 'POST', body, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

function sessionOf(id: string) {
  return stripe.sessions.get(id) ?? assert.fail(`no session ${id}`);
}

function lastIntent() {
  return [...stripe.intents.values()].at(-1) ?? assert.fail('no intent');
}

describe('a new wallet', () => {
  test('is empty, and says so', async () => {
    const organization = await newOrganization();
    const { body } = await organization.get(`${BILLING}/balance`);
    assert.deepEqual(body, { currency: 'eur', balance_cents: 0, stripe_customer: false });
    const ledger = await organization.get(`${BILLING}/ledger`);
    assert.deepEqual(ledger.body, { data: [], next_cursor: null, has_more: false });
    const autoreload = await organization.get(`${BILLING}/autoreload`);
    assert.deepEqual(autoreload.body, {
      enabled: false,
      threshold_cents: 500,
      amount_cents: 2_000,
      paused_until: null,
      last_failure: null,
    });
  });
});

describe('setup', () => {
  test('saves a card and unlocks the starter credit, once an organization', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'setup');
    assert.equal(
      sessionOf(session).success_url,
      'https://example.com/billing?tab=credits&session_id={CHECKOUT_SESSION_ID}#top',
    );
    const before = await confirm(organization, session);
    assert.deepEqual(before.body, { credited: false, payment_status: 'no_payment_required' });
    stripe.saveCard(session);
    for (let repeat = 0; repeat < 2; repeat += 1) {
      const { body } = await confirm(organization, session);
      assert.deepEqual(body, { credited: true, payment_status: 'no_payment_required' });
    }
    const second = await openPage(organization, 'setup');
    stripe.saveCard(second);
    await confirm(organization, second);
    assert.deepEqual(await ledgerOf(organization), [['starter', STARTER_CENTS]]);
    assert.equal((await organization.get(`${BILLING}/balance`)).body.stripe_customer, true);
  });

  for (const bad of [
    'javascript:alert(1)',
    'http://example.com/',
    'https://user:secret@example.com/',
    '/billing',
    'data:text/html,x',
    'http://127.0.0.1.example.com/',
    '',
    `https://example.com/${'x'.repeat(2_029)}`,
  ]) {
    test(`does not lead back to ${JSON.stringify(bad.slice(0, 40))}`, async () => {
      for (const [page, more] of [
        ['setup', {}],
        ['checkout', { amount_cents: 500 }],
      ] as const) {
        const answer = await platform.organization.post(`${BILLING}/${page}`, { return_url: bad, ...more });
        assertRefusal(answer, 422, 'invalid_return_url', 'return_url');
      }
    });
  }

  for (const good of [
    'http://localhost:3000/x',
    'http://127.0.0.1/',
    'http://[::1]:8080/',
    `https://example.com/${'x'.repeat(2_028)}`,
  ]) {
    test(`leads back to ${good.slice(0, 40)}`, async () => {
      const answer = await platform.organization.post(`${BILLING}/setup`, { return_url: good });
      assert.equal(answer.status, 200, answer.text);
    });
  }
});

describe('checkout', () => {
  test('credits the wallet when the page was paid, however often it is confirmed', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 2_500 });
    assert.deepEqual((await confirm(organization, session)).body, { credited: false, payment_status: 'unpaid' });
    stripe.paySession(session);
    const answers = await Promise.all(Array.from({ length: 5 }, () => confirm(organization, session)));
    for (const { body } of answers) assert.deepEqual(body, { credited: true, payment_status: 'paid' });
    assert.deepEqual(await ledgerOf(organization), [['topup', 2_500]]);
  });

  test('takes 100 to 1000000 cents', async () => {
    for (const amount_cents of [100, 1_000_000]) {
      await openPage(platform.organization, 'checkout', { amount_cents });
    }
    for (const amount_cents of [99, 1_000_001, 0, -500, 1.5, '2500', null]) {
      const answer = await platform.organization.post(`${BILLING}/checkout`, { return_url, amount_cents });
      assertRefusal(answer, 422, 'invalid_amount', 'amount_cents');
    }
  });

  test('with a key opens one page, and refuses the key for another', async () => {
    const organization = await newOrganization();
    const headers = { 'idempotency-key': 'top-up-1' };
    const body = { return_url, amount_cents: 900 };
    const first = await organization.post(`${BILLING}/checkout`, body, headers);
    const again = await organization.post(`${BILLING}/checkout`, body, headers);
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
    const other = await organization.post(`${BILLING}/checkout`, { ...body, amount_cents: 901 }, headers);
    assertRefusal(other, 409, 'idempotency_key_reused');
    const elsewhere = await (await newOrganization()).post(`${BILLING}/checkout`, body, headers);
    assert.notEqual(elsewhere.body.url, first.body.url);
  });

  test('that Stripe does not answer is stripe_error, and the same key then opens the page', async () => {
    const organization = await newOrganization();
    await openPage(organization, 'setup');
    const headers = { 'idempotency-key': 'top-up-2' };
    const body = { return_url, amount_cents: 900 };
    // A cut connection is tried once more by the package itself, with the same key.
    for (const faults of [['drop_before', 'drop_before'], ['drop_after', 'drop_after'], ['unavailable']] as const) {
      stripe.failNext(...faults);
      assertRefusal(await organization.post(`${BILLING}/checkout`, body, headers), 502, 'stripe_error');
    }
    const before = stripe.sessions.size;
    const opened = await organization.post(`${BILLING}/checkout`, body, headers);
    assert.equal(opened.status, 200, opened.text);
    assert.equal(stripe.sessions.size, before, 'the page is the one that was made before');
  });

  test('whose page is not used in time credits nothing', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 900 });
    stripe.expireSession(session);
    const event = await sendEvent('checkout.session.expired', sessionOf(session));
    assert.deepEqual([event.status, event.body], [200, { received: true }]);
    assert.deepEqual((await confirm(organization, session)).body, { credited: false, payment_status: 'expired' });
    assert.equal(await balanceOf(organization), 0);
  });
});

describe('confirm', () => {
  test('of a page that never was is session_not_found, of another organization’s session_mismatch', async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    assertRefusal(await confirm(organization, 'cs_test_none'), 404, 'session_not_found', 'session_id');
    const session = await openPage(organization, 'checkout', { amount_cents: 700 });
    stripe.paySession(session);
    assertRefusal(await confirm(other, session), 403, 'session_mismatch', 'session_id');
    assert.deepEqual([await balanceOf(organization), await balanceOf(other)], [0, 0]);
  });

  test('and Stripe’s event, at once and many times, credit once', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 1_100 });
    stripe.paySession(session);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        index % 2 === 0
          ? confirm(organization, session)
          : sendEvent('checkout.session.completed', sessionOf(session), { id: `evt_race_${index % 3}` }),
      ),
    );
    for (const { status, text } of answers) assert.equal(status, 200, text);
    assert.deepEqual(await ledgerOf(organization), [['topup', 1_100]]);
  });
});

describe('Stripe’s event', () => {
  test('is believed with a fresh signature of the endpoint’s secret over these very bytes alone', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 600 });
    stripe.paySession(session);
    const object = sessionOf(session);
    const type = 'checkout.session.completed';
    const wrong = await sendEvent(type, object, { secret: 'whsec_wrong' });
    assertRefusal(wrong, 401, 'bad_signature');
    const old = await sendEvent(type, object, { at: new Date(Date.now() - 301_000) });
    assertRefusal(old, 401, 'bad_signature');
    const { body, headers } = stripe.signEvent(type, object);
    assertRefusal(await post(body, {}), 401, 'missing_signature');
    assertRefusal(await post(body.replace('600', '601'), headers), 401, 'bad_signature');
    assertRefusal(await post(body, { 'stripe-signature': 't=1,v1=00' }), 401, 'bad_signature');
    assert.equal(await balanceOf(organization), 0);
    const recent = await sendEvent(type, object, { at: new Date(Date.now() - 200_000) });
    assert.deepEqual([recent.status, recent.body], [200, { received: true }]);
    assert.equal(await balanceOf(organization), 600);
  });

  test('that is signed and says nothing is bad_webhook; of something else that is sold it is acknowledged', async () => {
    for (const text of ['not json', '[]', '{}', '{"type":"charge.refunded"}']) {
      assertRefusal(await post(text, stripe.signText(text).headers), 422, 'bad_webhook');
    }
    const foreign = { id: 'cs_other', metadata: {}, payment_intent: 'pi_other' };
    for (const type of ['checkout.session.completed', 'payment_intent.succeeded', 'charge.refunded', 'invoice.paid']) {
      const { status, text } = await sendEvent(type, foreign);
      assert.equal(status, 200, text);
    }
  });

  test('that names another organization’s payment credits whoever began it', async () => {
    const organization = await newOrganization();
    const { organizationId: otherId, client: other } = await platform.createOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 800 });
    stripe.paySession(session);
    const object = sessionOf(session);
    const bent = { ...object, metadata: { ...object.metadata, ironcraft_organization: otherId } };
    assert.equal((await sendEvent('checkout.session.completed', bent)).status, 200);
    assert.deepEqual([await balanceOf(organization), await balanceOf(other)], [0, 0]);
  });

  test('is sent again by Stripe where Stripe itself does not answer us', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 800 });
    stripe.paySession(session);
    const { body, headers } = stripe.signEvent('checkout.session.completed', sessionOf(session));
    stripe.failNext('unavailable');
    assertRefusal(await post(body, headers), 502, 'stripe_error');
    assert.equal((await post(body, headers)).status, 200);
    assert.equal(await balanceOf(organization), 800);
  });

  test('of a refund takes the money out of the wallet, once, and gives it back where the card does not take it', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 3_000 });
    stripe.paySession(session);
    await confirm(organization, session);
    const { id: intentId, metadata } = lastIntent();
    const charge = { id: 'ch_1', object: 'charge', payment_intent: intentId, metadata };
    stripe.refund(intentId, 1_000);
    const failing = stripe.refund(intentId, 500);
    for (let repeat = 0; repeat < 2; repeat += 1) await sendEvent('charge.refunded', charge);
    assert.equal(await balanceOf(organization), 1_500);
    stripe.failRefund(failing.id);
    for (let repeat = 0; repeat < 2; repeat += 1) await sendEvent('refund.failed', failing);
    assert.equal(await balanceOf(organization), 2_000);
    assert.deepEqual(await ledgerOf(organization), [
      ['refund', 500],
      ['refund', -500],
      ['refund', -1_000],
      ['topup', 3_000],
    ]);
  });

  test('of a refund that comes before anybody has heard of the payment books both', async () => {
    const organization = await newOrganization();
    const session = await openPage(organization, 'checkout', { amount_cents: 3_000 });
    stripe.paySession(session);
    const { id: intentId, metadata } = lastIntent();
    stripe.refund(intentId, 3_000);
    await sendEvent('charge.refunded', { id: 'ch_2', payment_intent: intentId, metadata });
    assert.deepEqual(await ledgerOf(organization), [
      ['refund', -3_000],
      ['topup', 3_000],
    ]);
  });

  test('of a card that was removed leaves nothing to charge, and of another that was chosen charges that', async () => {
    const { organization, cardId } = await withCard();
    assert.equal((await sendEvent('payment_method.detached', { id: cardId })).status, 200);
    assertRefusal(await organization.post(`${BILLING}/reload`, {}), 422, 'no_saved_card');
    const customerId = stripe.savedCards.get(cardId)?.customer ?? '';
    stripe.savedCards.set('pm_chosen', { id: 'pm_chosen', customer: customerId, behaviour: 'pm_card_visa' });
    const invoice_settings = { default_payment_method: 'pm_chosen' };
    const previous = { invoice_settings: { default_payment_method: cardId } };
    assert.equal((await sendEvent('customer.updated', { id: customerId, invoice_settings }, { previous })).status, 200);
    assert.equal((await organization.post(`${BILLING}/reload`, { amount_cents: 500 })).body.payment_status, 'paid');
  });

  test('of a customer whose address has changed leaves the card that is charged', async () => {
    const { organization, cardId } = await withCard();
    const customerId = stripe.savedCards.get(cardId)?.customer ?? '';
    const session = await openPage(organization, 'setup');
    const { id: newCard } = stripe.saveCard(session);
    await confirm(organization, session);
    const invoice_settings = { default_payment_method: cardId };
    const previous = { email: 'old@example.com' };
    assert.equal((await sendEvent('customer.updated', { id: customerId, invoice_settings }, { previous })).status, 200);
    assert.equal((await organization.post(`${BILLING}/reload`, { amount_cents: 500 })).body.payment_status, 'paid');
    assert.equal(stripe.requests.at(-1)?.body.payment_method, newCard);
  });
});

describe('reload', () => {
  test('charges the saved card, with what is asked for or what the automatic reload has', async () => {
    const { organization } = await withCard();
    const asked = await organization.post(`${BILLING}/reload`, { amount_cents: 700 });
    assert.deepEqual([asked.status, asked.body], [200, { credited: true, payment_status: 'paid' }]);
    await organization.put(`${BILLING}/autoreload`, { enabled: false, amount_cents: 1_300 });
    for (const body of [{}, { amount_cents: null }])
      assert.equal((await organization.post(`${BILLING}/reload`, body)).status, 200);
    assert.deepEqual(await ledgerOf(organization), [
      ['topup', 1_300],
      ['topup', 1_300],
      ['topup', 700],
      ['starter', STARTER_CENTS],
    ]);
  });

  test('needs a customer, then a card', async () => {
    const organization = await newOrganization();
    assertRefusal(await organization.post(`${BILLING}/reload`, {}), 422, 'no_customer');
    assertRefusal(await organization.get(`${BILLING}/portal`), 422, 'no_customer');
    await openPage(organization, 'setup');
    assertRefusal(await organization.post(`${BILLING}/reload`, {}), 422, 'no_saved_card');
    const portal = await organization.get(`${BILLING}/portal`);
    assert.match(portal.body.url, /^https:\/\/billing\.stripe\.test\//);
  });

  for (const amount_cents of [99, 1_000_001, 0.5, '5']) {
    test(`of ${JSON.stringify(amount_cents)} is invalid_amount`, async () => {
      const answer = await platform.organization.post(`${BILLING}/reload`, { amount_cents });
      assertRefusal(answer, 422, 'invalid_amount', 'amount_cents');
    });
  }

  test('says that the card is declined, and books nothing', async () => {
    const { organization } = await withCard('pm_card_chargeDeclinedInsufficientFunds');
    const answer = await organization.post(`${BILLING}/reload`, { amount_cents: 900 });
    assert.deepEqual([answer.status, answer.body], [200, { credited: false, payment_status: 'declined' }]);
    assert.equal(await balanceOf(organization), STARTER_CENTS);
  });

  test('with a key charges once, whatever is lost on the way', async () => {
    const { organization } = await withCard();
    const headers = { 'idempotency-key': 'reload-1' };
    const body = { amount_cents: 900 };
    const net = stripe.netCents();
    stripe.failNext('drop_after', 'drop_after');
    const lost = await organization.post(`${BILLING}/reload`, body, headers);
    assert.deepEqual(lost.body, { credited: false, payment_status: 'processing' });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => organization.post(`${BILLING}/reload`, body, headers)),
    );
    for (const { body: answered } of answers) assert.deepEqual(answered, { credited: true, payment_status: 'paid' });
    assertRefusal(
      await organization.post(`${BILLING}/reload`, { amount_cents: 901 }, headers),
      409,
      'idempotency_key_reused',
    );
    assert.equal(await balanceOf(organization), STARTER_CENTS + 900);
    assert.equal(stripe.netCents() - net, 900);
  });

  test('with a key says that it is paid though the card has been removed since', async () => {
    const { organization, cardId } = await withCard();
    const headers = { 'idempotency-key': 'removed since' };
    stripe.failNext('drop_after', 'drop_after');
    const lost = await organization.post(`${BILLING}/reload`, { amount_cents: 900 }, headers);
    assert.equal(lost.body.payment_status, 'processing');
    assert.equal((await sendEvent('payment_intent.succeeded', lastIntent())).status, 200);
    assert.equal((await sendEvent('payment_method.detached', { id: cardId })).status, 200);
    const again = await organization.post(`${BILLING}/reload`, { amount_cents: 900 }, headers);
    assert.deepEqual([again.status, again.body], [200, { credited: true, payment_status: 'paid' }], again.text);
  });

  test('whose answer was lost is credited by Stripe’s event', async () => {
    const { organization } = await withCard();
    stripe.failNext('drop_after', 'drop_after');
    await organization.post(`${BILLING}/reload`, { amount_cents: 900 });
    assert.equal(await balanceOf(organization), STARTER_CENTS);
    assert.equal((await sendEvent('payment_intent.succeeded', lastIntent())).status, 200);
    assert.equal(await balanceOf(organization), STARTER_CENTS + 900);
  });
});

describe('autoreload', () => {
  test('keeps what it was given, and what is left out as it was', async () => {
    const organization = await newOrganization();
    const put = (body: object) => organization.put(`${BILLING}/autoreload`, body);
    const whole = await put({ enabled: true, threshold_cents: 0, amount_cents: 100 });
    assert.deepEqual(
      [whole.status, whole.body.enabled, whole.body.threshold_cents, whole.body.amount_cents],
      [200, true, 0, 100],
    );
    const off = await put({ enabled: false });
    assert.deepEqual([off.body.enabled, off.body.threshold_cents, off.body.amount_cents], [false, 0, 100]);
    assert.deepEqual((await organization.get(`${BILLING}/autoreload`)).body, off.body);
    for (const threshold_cents of [-1, 1_000_001, 0.5, '1']) {
      assertRefusal(await put({ enabled: true, threshold_cents }), 422, 'invalid_threshold', 'threshold_cents');
    }
    for (const amount_cents of [99, 1_000_001]) {
      assertRefusal(await put({ enabled: true, amount_cents }), 422, 'invalid_amount', 'amount_cents');
    }
    assertRefusal(await put({}), 422, 'invalid_request', 'enabled');
    assert.deepEqual((await organization.get(`${BILLING}/autoreload`)).body, off.body);
  });

  test('may be switched on before a card is saved, and stays on when one is', async () => {
    const organization = await newOrganization();
    const { status, body } = await organization.put(`${BILLING}/autoreload`, { enabled: true, threshold_cents: 0 });
    assert.deepEqual([status, body.enabled, body.last_failure], [200, true, null]);
    assertRefusal(await organization.post(`${BILLING}/reload`, {}), 422, 'no_customer');
    const session = await openPage(organization, 'setup');
    assertRefusal(await organization.post(`${BILLING}/reload`, {}), 422, 'no_saved_card');
    stripe.saveCard(session);
    await confirm(organization, session);
    assert.deepEqual((await organization.get(`${BILLING}/autoreload`)).body, body);
  });
});

describe('a code', () => {
  test('is redeemed once, by whoever is first, however it is typed', async () => {
    const [code = ''] = await mintCodes(db, { amountCents: 1_234, count: 1, expiresAt: null });
    assert.match(code, /^[2-9A-HJKMNP-Z]{5}(-[2-9A-HJKMNP-Z]{5}){4}$/);
    const organizations = await Promise.all(Array.from({ length: 5 }, newOrganization));
    const typed = code.toLowerCase().replaceAll('-', ' ');
    const answers = await Promise.all(organizations.map((one) => one.post(`${BILLING}/redeem`, { code: typed })));
    const redeemed = answers.filter(({ status }) => status === 200);
    assert.deepEqual(
      redeemed.map(({ body }) => body),
      [{ amount_cents: 1_234, currency: 'eur' }],
    );
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertRefusal(answer, 409, 'code_already_redeemed', 'code');
    }
    const balances = await Promise.all(organizations.map(balanceOf));
    assert.deepEqual(balances.sort(), [0, 0, 0, 0, 1_234]);
  });

  test('that is unknown or over is invalid_code, and is nowhere in the store', async () => {
    const [over = ''] = await mintCodes(db, { amountCents: 100, count: 1, expiresAt: new Date(Date.now() - 1_000) });
    const organization = await newOrganization();
    for (const code of [over, 'K7QWM-2XN4R-HVT8B-3CDJP-9FYGS', '', 'x'.repeat(101)]) {
      assertRefusal(await organization.post(`${BILLING}/redeem`, { code }), 422, 'invalid_code', 'code');
    }
    const { rows } = await db.query<{ hash: string }>({ text: 'select hash from redeem_codes', values: [] });
    assert.ok(rows.every(({ hash }) => /^[0-9a-f]{64}$/.test(hash)));
  });

  test('can be guessed ten times a minute by an organization, and no other is held up', async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const guess = (one: Client) => one.post(`${BILLING}/redeem`, { code: 'K7QWM-2XN4R-HVT8B-3CDJP-9FYGS' });
    for (let tried = 0; tried < 10; tried += 1) assertRefusal(await guess(organization), 422, 'invalid_code');
    const refused = await guess(organization);
    assertRefusal(refused, 429, 'rate_limit_exceeded');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assertRefusal(await guess(other), 422, 'invalid_code');
  });
});

describe('without Stripe', () => {
  test('cards are stripe_unconfigured, and codes and the ledger work', async (t) => {
    const plain = await startPlatform({ billing: { stripeKey: undefined, stripeWebhookSecret: undefined } });
    t.after(() => plain.close());
    const { organization } = plain;
    for (const answer of [
      await organization.post(`${BILLING}/setup`, { return_url }),
      await organization.post(`${BILLING}/checkout`, { return_url, amount_cents: 500 }),
      await organization.post(`${BILLING}/confirm`, { session_id: 'cs_1' }),
      await organization.post(`${BILLING}/reload`, {}),
      await organization.get(`${BILLING}/portal`),
    ]) {
      assertRefusal(answer, 422, 'stripe_unconfigured');
    }
    const [code] = await mintCodes(plain.db, { amountCents: 50, count: 1, expiresAt: null });
    assert.equal((await organization.post(`${BILLING}/redeem`, { code })).status, 200);
    assert.equal(await balanceOf(organization), 50);
  });

  test('wallets that hold another currency stop the start', async () => {
    const [code] = await mintCodes(db, { amountCents: 50, count: 1, expiresAt: null });
    await platform.organization.post(`${BILLING}/redeem`, { code });
    const settings = loadConfig({ IRONCRAFT_BILLING_CURRENCY: 'usd' }).billing;
    await assert.rejects(
      createBilling(settings, { db, clock: systemClock, logger: openTestLogger() }),
      /wallets hold eur, and IRONCRAFT_BILLING_CURRENCY is usd/,
    );
  });
});
