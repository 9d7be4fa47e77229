import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import { startDomains } from '../../../../test/support/domains.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import type { Transaction } from '../../../kernel/db/database.ts';
import { auditLedger, readWallet, settleTopUps, unconfiguredPayments } from '../../wallet/index.ts';
import { createStripePayments } from '../../wallet/payments/stripe-payments.ts';
import { systemDb } from '../../workspace-scope.ts';
import { normalizeEmail } from './email-address.ts';

const stripe = await startStripe();
const logger = openTestLogger();
const clock = createManualClock(new Date());
const payments = createStripePayments({
  secretKey: stripe.secretKey,
  apiUrl: stripe.url,
  returnUrl: 'https://domains.example/api/v1/docs',
  logger,
  clock,
});
const service = await startDomains({ clock, payments });
const { anybody, db } = service;
const cardless = await startDomains({
  payments: unconfiguredPayments,
  sharing: service,
  parts: {
    demoCreditCents: 10_000,
    config: {
      projectRequestsPerMinute: 1e6,
      addressRequestsPerMinute: 1e6,
      bodyLimitBytes: 1e6,
      // So that one machine can call from two addresses.
      trustProxy: ['127.0.0.0/8'],
      connections: { perAddress: 1e6, total: 1e6 },
      stallMs: 30_000,
    },
  },
});
after(async () => {
  await cardless.close();
  await service.close();
  await stripe.close();
});

let people = 0;
function newEmail(): string {
  people += 1;
  return `person-${people}@example.com`;
}

async function countRows(): Promise<readonly number[]> {
  const { rows } = await db.query<Record<string, number>>({
    text: `select (select count(*) from domains.workspaces) as workspaces, (select count(*) from domains.users) as users,
                  (select count(*) from domains.tokens) as tokens, (select count(*) from domains.payments) as payments`,
  });
  return Object.values(rows[0] ?? {});
}

describe('a sign-up', () => {
  test('answers a user, a workspace with an empty wallet, and a token that may write', async () => {
    const email = newEmail();
    const { status, body } = await anybody.post('/accounts', { email, name: 'Kim Doe', workspace: 'Kim’s names' });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['user', 'workspace', 'token']);
    assert.deepEqual([body.user.email, body.user.name, body.workspace.name], [email, 'Kim Doe', 'Kim’s names']);
    assert.deepEqual(body.workspace.wallet, { available_cents: 0, held_cents: 0, currency: 'EUR' });
    assert.match(body.token.token, /^icd_live_[\w-]{43}$/);
    assert.equal(body.token.scope, 'write');
    assert.equal(body.user.created_at, clock.now().toISOString());
    assert.equal((await anybody.as(body.token.token).get('/domains')).status, 200);
    assert.deepEqual(await readWallet(db, body.workspace.id), { availableCents: 0, heldCents: 0 });
  });

  test('needs the address alone, and names the rest after it', async () => {
    const { body } = await anybody.post('/accounts', { email: 'Lee.Roe@EXAMPLE.org' });
    assert.deepEqual(
      [body.user.email, body.user.name, body.workspace.name],
      ['Lee.Roe@example.org', 'Lee.Roe', 'Lee.Roe'],
    );
  });

  test('keeps the registrant’s contact', async () => {
    const contact = {
      organization: 'Acme',
      street: '1 Way',
      city: 'Bonn',
      postal_code: '53111',
      country: 'DE',
      phone: '+49.228123',
    };
    const { body } = await anybody.post('/accounts', { email: newEmail(), contact });
    const user = await systemDb(db)
      .selectFrom('users')
      .select('contact')
      .where('id', '=', body.user.id)
      .executeTakeFirst();
    assert.deepEqual(user?.contact, contact);
  });

  test('brings play money where the registry is simulated', async () => {
    const { body } = await cardless.anybody.post('/accounts', { email: newEmail() });
    assert.equal(body.workspace.wallet.available_cents, 10_000);
    assert.deepEqual(await readWallet(db, body.workspace.id), { availableCents: 10_000, heldCents: 0 });
    assert.deepEqual(await auditLedger(db), []);
  });

  const refused: readonly [body: unknown, param: string][] = [
    [{}, 'email'],
    [{ email: 'kim' }, 'email'],
    [{ email: 7 }, 'email'],
    [{ email: newEmail(), name: '' }, 'name'],
    [{ email: newEmail(), name: '  ' }, 'name'],
    [{ email: newEmail(), name: 'Kim\nBcc: ada@example.com' }, 'name'],
    [{ email: newEmail(), name: 'Kim\u0000' }, 'name'],
    [{ email: newEmail(), workspace: 'half \ud83d' }, 'workspace'],
    [{ email: newEmail(), contact: { city: 'Lon\u0001don' } }, 'contact.city'],
    [{ email: newEmail(), contact: { country: 'Germany' } }, 'contact.country'],
    [{ email: newEmail(), contact: { phone: '0301234567' } }, 'contact.phone'],
    [{ email: newEmail(), prefund: 0 }, 'prefund'],
    [{ email: newEmail(), prefund: '10.001' }, 'prefund'],
    [{ email: newEmail(), prefund: -5 }, 'prefund'],
    [{ email: newEmail(), prefund: 10_000.01 }, 'prefund'],
    [{ email: newEmail(), colour: 'red' }, 'colour'],
  ];
  for (const [body, param] of refused) {
    test(`with ${JSON.stringify(body)} is refused for its ${param}`, async () => {
      const before = await countRows();
      const answer = await anybody.post('/accounts', body);
      assert.deepEqual([answer.status, answer.body.error, answer.body.details.param], [400, 'bad_request', param]);
      assert.deepEqual(await countRows(), before);
    });
  }

  test('with an address that is registered, however it is spelt, is email_taken', async () => {
    await anybody.post('/accounts', { email: 'max@bücher.example' });
    for (const email of ['max@bücher.example', 'MAX@BÜCHER.example', 'Max@xn--bcher-kva.EXAMPLE']) {
      const { status, body } = await anybody.post('/accounts', { email });
      assert.deepEqual([status, body.error], [409, 'email_taken'], email);
    }
  });

  test('that arrives twenty times at once makes one account', async () => {
    const before = await countRows();
    const email = newEmail();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        anybody.post('/accounts', { email: index % 2 === 0 ? email : email.toUpperCase() }),
      ),
    );
    const outcomes = answers.map(({ status, body }) => `${status} ${body.error ?? ''}`).sort();
    assert.deepEqual(outcomes, ['201 ', ...Array.from({ length: 19 }, () => '409 email_taken')]);
    const [workspaces, users, tokens] = await countRows();
    assert.deepEqual(
      [workspaces, users, tokens],
      before.slice(0, 3).map((count) => count + 1),
    );
  });
});

describe('Idempotency-Key of a sign-up', () => {
  test('replays the token that was shown, and refuses another body', async () => {
    const headers = { 'idempotency-key': 'sign-up-1' };
    const email = newEmail();
    const first = await anybody.post('/accounts', { email, name: 'Kim' }, headers);
    const again = await anybody.post('/accounts', { name: 'Kim', email }, headers);
    assert.deepEqual([again.status, again.headers.get('idempotent-replay')], [201, 'true']);
    assert.equal(first.headers.get('idempotent-replay'), null);
    assert.deepEqual(again.body, first.body);
    const other = await anybody.post('/accounts', { email, name: 'Lee' }, headers);
    assert.deepEqual([other.status, other.body.error], [409, 'idempotency_key_reused']);
  });

  test('tells the token to no other address', async () => {
    const from = (address: string) => ({ 'idempotency-key': 'sign-up-2', 'x-forwarded-for': address });
    const email = newEmail();
    const first = await cardless.anybody.post('/accounts', { email }, from('203.0.113.7'));
    assert.equal(first.status, 201);
    const stranger = await cardless.anybody.post('/accounts', { email }, from('198.51.100.9'));
    assert.deepEqual([stranger.status, stranger.body.error], [409, 'email_taken']);
    assert.equal((await cardless.anybody.post('/accounts', { email }, from('203.0.113.7'))).status, 201);
  });

  test('keeps no failure: a retry signs up', async () => {
    const headers = { 'idempotency-key': 'sign-up-3' };
    const body = { email: newEmail(), prefund: '12.50' };
    stripe.failNext('unavailable');
    assert.equal((await anybody.post('/accounts', body, headers)).status, 422);
    assert.equal((await anybody.post('/accounts', body, headers)).status, 201);
  });
});

describe('a prefund', () => {
  test('opens a page, and reaches the wallet once when it is paid', async () => {
    const { status, body } = await anybody.post('/accounts', { email: newEmail(), prefund: '25.50' });
    assert.equal(status, 201);
    const session = [...stripe.sessions.values()].at(-1);
    assert.ok(session);
    const { id, ...prefund } = body.prefund;
    assert.match(id, /^pay_/);
    assert.deepEqual(prefund, { amount: 25.5, currency: 'EUR', url: session.url, state: 'open' });
    assert.deepEqual([session.amount_total, session.metadata], [2_550, { payment: id }]);

    const told: number[] = [];
    const onPaid = async (tx: Transaction) => {
      told.push((await readWallet(tx, body.workspace.id)).availableCents);
    };
    const parts = { db, payments, clock, logger, onPaid };
    await settleTopUps(parts);
    assert.deepEqual(told, []);
    assert.deepEqual(await readWallet(db, body.workspace.id), { availableCents: 0, heldCents: 0 });
    stripe.paySession(session.id);
    clock.advance(60_000);
    await Promise.all([settleTopUps(parts), settleTopUps(parts)]);
    await settleTopUps(parts);
    assert.deepEqual(await readWallet(db, body.workspace.id), { availableCents: 2_550, heldCents: 0 });
    assert.deepEqual([...new Set(told)], [2_550]);
    assert.equal(await stateOf(id), 'succeeded');
    assert.deepEqual(await auditLedger(db), []);
  });

  test('that nobody pays expires; while Stripe does not answer it stays open', async () => {
    const { body } = await anybody.post('/accounts', { email: newEmail(), prefund: 10 });
    const session = [...stripe.sessions.values()].at(-1);
    stripe.expireSession(session?.id ?? '');
    clock.advance(3_600_000);
    const parts = { db, payments, clock, logger, onPaid: () => assert.fail('nothing was paid') };
    stripe.failNext('unavailable', 'unavailable', 'unavailable');
    await settleTopUps(parts);
    assert.equal(await stateOf(body.prefund.id), 'open');
    clock.advance(3_600_000);
    await settleTopUps(parts);
    assert.equal(await stateOf(body.prefund.id), 'expired');
    assert.deepEqual(await readWallet(db, body.workspace.id), { availableCents: 0, heldCents: 0 });
  });

  test('that cannot be opened makes no account', async () => {
    const before = await countRows();
    const email = newEmail();
    stripe.failNext('unavailable');
    const failed = await anybody.post('/accounts', { email, prefund: 10 });
    assert.deepEqual([failed.status, failed.body.error], [422, 'payment_failed']);
    const without = await cardless.anybody.post('/accounts', { email, prefund: 10 });
    assert.deepEqual([without.status, without.body.error], [422, 'payment_failed']);
    assert.equal(without.body.details.kind, 'payments_unconfigured');
    assert.deepEqual(await countRows(), before);
    assert.equal((await anybody.post('/accounts', { email, prefund: 10 })).status, 201);
  });

  test('of an address that is taken opens no page', async () => {
    const email = newEmail();
    await anybody.post('/accounts', { email });
    const before = stripe.sessions.size;
    assert.equal((await anybody.post('/accounts', { email, prefund: 10 })).body.error, 'email_taken');
    assert.equal(stripe.sessions.size, before);
  });
});

async function stateOf(paymentId: string): Promise<string | undefined> {
  const row = await systemDb(db).selectFrom('payments').select('state').where('id', '=', paymentId).executeTakeFirst();
  return row?.state;
}

describe('an e-mail address', () => {
  const good: readonly [text: string, address: string][] = [
    ['kim@example.com', 'kim@example.com'],
    ["Kim.O'Hara+domains@Mail.Example.co.uk", "Kim.O'Hara+domains@mail.example.co.uk"],
    ['a@bücher.example', 'a@xn--bcher-kva.example'],
    [`${'x'.repeat(64)}@example.com`, `${'x'.repeat(64)}@example.com`],
  ];
  for (const [text, address] of good) {
    test(`${text.slice(0, 40)} is one`, () => {
      assert.deepEqual(normalizeEmail(text), { address, key: address.toLowerCase() });
    });
  }
  const bad = [
    '',
    '@',
    'kim',
    'kim@',
    '@example.com',
    'kim@example',
    'kim@@example.com',
    'kim lee@example.com',
    ' kim@example.com',
    'kim@example.com ',
    'kim@example.com\r\nbcc: x@y.z',
    '.kim@example.com',
    'kim.@example.com',
    'k..m@example.com',
    '"kim"@example.com',
    'kim@[192.0.2.1]',
    'kim@192.0.2.1',
    'kim@-example.com',
    'kim@exam_ple.com',
    'kim@.example.com',
    'kim@example..com',
    'kím@example.com',
    'kim@example.com,lee@example.com',
    `${'x'.repeat(65)}@example.com`,
    `kim@${'x'.repeat(64)}.com`,
    `kim@${'x.'.repeat(130)}com`,
    '<kim@example.com>',
    'kim@exa\u0000mple.com',
  ];
  for (const text of bad) {
    test(`${JSON.stringify(text.slice(0, 40))} is none`, () => {
      assert.throws(() => normalizeEmail(text), { code: 'bad_request' });
    });
  }
});
