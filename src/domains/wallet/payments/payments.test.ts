import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type FakeStripe, type StripeFault, startStripe } from '../../../../test/fakes/stripe-server.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ChargeRequest, Instrument, PaymentFailure, RefundRequest } from './payments.ts';
import { createStripePayments } from './stripe-payments.ts';
import { unconfiguredPayments } from './unconfigured-payments.ts';

const stripe = await startStripe();
after(() => stripe.close());
const logger = openTestLogger();
const options = {
  secretKey: stripe.secretKey,
  apiUrl: stripe.url,
  returnUrl: 'https://domains.example/api/v1/docs',
  logger,
  clock: systemClock,
};
const payments = createStripePayments(options);
/** For what is never answered. */
const hasty = createStripePayments({ ...options, timeoutMs: 300 });

function chargeOf(value: string, change: Partial<ChargeRequest> = {}): ChargeRequest {
  const kind: Instrument['kind'] = value.startsWith('spt_') ? 'shared_payment_token' : 'payment_method';
  return {
    idempotencyKey: `charge:${mintId('ord')}:1`,
    amountCents: 1_299,
    instrument: { kind, value },
    description: 'example.com, 1 year',
    metadata: { order: 'ord_1' },
    ...change,
  };
}

const lastIntent = () => [...stripe.intents.values()].at(-1);

describe('a charge', () => {
  test('of a payment method is one intent in euros, confirmed at once with nobody present', async () => {
    const request = chargeOf('pm_card_visa');
    const outcome = await payments.charge(request);
    assert.deepEqual(outcome, { kind: 'succeeded', reference: lastIntent()?.id });
    const { body, idempotencyKey, version } = lastRequest(stripe);
    assert.equal(idempotencyKey, request.idempotencyKey);
    assert.equal(version, '2026-10-28.endive');
    assert.deepEqual(
      [body.amount, body.currency, body.confirm, body.off_session, body.payment_method, body['metadata[order]']],
      ['1299', 'eur', 'true', 'true', 'pm_card_visa', 'ord_1'],
    );
  });

  test('of a shared payment token names it as the preview of agentic commerce does', async () => {
    const outcome = await payments.charge(chargeOf('spt_card_visa'));
    assert.equal(outcome.kind, 'succeeded');
    const { body, version } = lastRequest(stripe);
    assert.equal(version, '2026-04-22.preview');
    assert.equal(body['payment_method_data[shared_payment_granted_token]'], 'spt_card_visa');
    assert.equal(body.payment_method, undefined);
  });

  const declines: readonly [instrument: string, kind: PaymentFailure['kind'], message: RegExp][] = [
    ['pm_card_chargeDeclined', 'card_declined', /^Your card was declined\.$/],
    ['pm_card_chargeDeclinedInsufficientFunds', 'card_declined', /insufficient funds/],
    ['pm_card_chargeDeclinedExpiredCard', 'card_declined', /expired/],
    ['spt_card_chargeDeclined', 'card_declined', /declined/],
    ['pm_card_authenticationRequired', 'authentication_required', /authentication/],
    ['pm_card_requiresAction', 'authentication_required', /nobody is present/],
    ['pm_nobody_knows', 'invalid_instrument', /does not know this instrument/],
    ['spt_revoked', 'invalid_instrument', /does not know this instrument/],
  ];
  for (const [instrument, kind, message] of declines) {
    test(`of ${instrument} is declined as ${kind}, also when it is repeated`, async () => {
      const before = stripe.netCents();
      const request = chargeOf(instrument);
      for (const outcome of [await payments.charge(request), await payments.charge(request)]) {
        assert.equal(outcome.kind, 'declined');
        assert.equal(outcome.kind === 'declined' && outcome.failure.kind, kind);
        assert.match(outcome.kind === 'declined' ? outcome.failure.message : '', message);
      }
      assert.equal(stripe.netCents(), before);
    });
  }

  test('that waits for its holder is cancelled, so that nobody can pay it later', async () => {
    await payments.charge(chargeOf('pm_card_requiresAction'));
    assert.equal(lastIntent()?.status, 'canceled');
  });

  test('that its holder confirms at the last moment is not taken for declined', async () => {
    const request = chargeOf('pm_card_paidMeanwhile');
    assert.equal((await payments.charge(request)).kind, 'unknown');
    assert.deepEqual(await payments.charge(request), { kind: 'succeeded', reference: lastIntent()?.id });
  });

  test('of an amount that Stripe does not take is declined as such', async () => {
    const outcome = await payments.charge(chargeOf('pm_card_visa', { amountCents: 49 }));
    assert.equal(outcome.kind === 'declined' && outcome.failure.kind, 'invalid_amount');
  });

  test('that is processed is unknown until it has ended', async () => {
    const request = chargeOf('pm_card_processing');
    assert.equal((await payments.charge(request)).kind, 'unknown');
    const intent = lastIntent();
    assert.ok(intent);
    intent.status = 'succeeded';
    assert.deepEqual(await payments.charge(request), { kind: 'succeeded', reference: intent.id });
  });

  // A cut connection is tried once more by the package itself, with the same key.
  const faults: readonly [what: string, faults: readonly StripeFault[]][] = [
    ['is cut off before anything is done', ['drop_before', 'drop_before']],
    ['is cut off after it was done', ['drop_after', 'drop_after']],
    ['is never answered', ['hang']],
    ['finds Stripe down', ['unavailable', 'unavailable']],
  ];
  for (const [what, met] of faults) {
    test(`that ${what} is unknown, and charges once when it is repeated`, async () => {
      const before = stripe.netCents();
      const request = chargeOf('pm_card_visa');
      stripe.failNext(...met);
      assert.equal((await (met.includes('hang') ? hasty : payments).charge(request)).kind, 'unknown');
      assert.equal((await payments.charge(request)).kind, 'succeeded');
      assert.equal((await payments.charge(request)).kind, 'succeeded');
      assert.equal(stripe.netCents(), before + request.amountCents);
    });
  }

  test('that Stripe did and kept as its own failure is found again', async () => {
    const request = chargeOf('pm_card_visa');
    stripe.failNext('fail');
    assert.deepEqual(await payments.charge(request), { kind: 'succeeded', reference: lastIntent()?.id });
  });

  for (const fault of ['drop_before', 'drop_after'] as const) {
    test(`after ${fault} that is repeated when Stripe has forgotten its key charges once`, async () => {
      const before = stripe.netCents();
      const request = chargeOf('pm_card_visa');
      stripe.failNext(fault, fault);
      assert.equal((await payments.charge(request)).kind, 'unknown');
      stripe.forgetKeys();
      const late = { ...request, requestedAt: new Date(Date.now() - 25 * 3_600_000) };
      stripe.failNext('unavailable');
      assert.equal((await payments.charge(late)).kind, 'unknown');
      assert.equal((await payments.charge(late)).kind, 'succeeded');
      assert.equal(stripe.netCents(), before + request.amountCents);
    });
  }

  test('whose parameters are others by now is found by its key', async () => {
    const request = chargeOf('pm_card_visa');
    const charged = await payments.charge(request);
    const before = stripe.netCents();
    assert.deepEqual(await payments.charge({ ...request, description: 'in other words' }), charged);
    assert.equal(stripe.netCents(), before);
  });

  test('with a secret key that Stripe refuses is unknown: an earlier call may have charged', async () => {
    const locked = createStripePayments({ ...options, secretKey: 'sk_test_wrong' });
    assert.equal((await locked.charge(chargeOf('pm_card_visa'))).kind, 'unknown');
    await assert.rejects(locked.openTopUp(topUpOf(1_000)), { code: 'payment_failed' });
  });
});

describe('a refund', () => {
  const refundOf = (reference: string, amountCents: number): RefundRequest => ({
    id: mintId('pay'),
    attempt: 0,
    requestedAt: new Date(),
    reference,
    amountCents,
  });
  const charge = async () => {
    const charged = await payments.charge(chargeOf('pm_card_visa'));
    assert.ok(charged.kind === 'succeeded');
    return charged.reference;
  };
  const lastRefund = () => [...stripe.refunds.keys()].at(-1);

  test('gives the money back once, however often it is asked for', async () => {
    const before = stripe.netCents();
    const reference = await charge();
    const request = refundOf(reference, 1_299);
    stripe.failNext('drop_after', 'drop_after');
    assert.equal((await payments.refund(request)).kind, 'unknown');
    assert.deepEqual(await payments.refund(request), { kind: 'succeeded', reference: lastRefund() });
    assert.equal(stripe.netCents(), before);
    const again = await payments.refund({ ...request, id: mintId('pay') });
    assert.deepEqual(again, { kind: 'succeeded', reference });
    assert.equal(stripe.netCents(), before);
  });

  for (const [why, fault, repeated] of [
    ['whose answer is lost', 'drop_after', {}],
    ['whose answer is lost for a day', 'drop_after', { requestedAt: new Date(Date.now() - 25 * 3_600_000) }],
    ['that Stripe gave, and kept as its own failure', 'fail', { attempt: 1 }],
    ['that Stripe has not given', 'unavailable', { attempt: 1 }],
  ] as const) {
    test(`of a part, ${why}, is given once`, async () => {
      const before = stripe.netCents();
      const request = refundOf(await charge(), 400);
      // A connection that is cut off is tried once more at once.
      stripe.failNext(...(fault === 'drop_after' ? [fault, fault] : [fault]));
      const asked = await payments.refund(request);
      assert.equal(asked.kind, fault === 'drop_after' ? 'unknown' : 'failed');
      if ('requestedAt' in repeated) stripe.forgetKeys();
      assert.deepEqual(await payments.refund({ ...request, ...repeated }), {
        kind: 'succeeded',
        reference: lastRefund(),
      });
      assert.equal(stripe.netCents(), before + 899);
    });
  }

  test('of a part, that another process is giving at this moment, is given once', async () => {
    const before = stripe.netCents();
    const request = refundOf(await charge(), 400);
    const asked = stripe.requests.length;
    stripe.failNext('wait');
    const others = payments.refund(request);
    await eventually(async () => stripe.requests.length > asked || undefined, 'Stripe is asked for the refund');
    // As the worker repeats it.
    const { kind } = await payments.refund(request);
    const repeated = { ...request, attempt: kind === 'failed' ? 1 : 0 };
    await payments.refund(repeated);
    stripe.letGo();
    assert.equal((await others).kind, 'succeeded');
    assert.deepEqual(await payments.refund(repeated), { kind: 'succeeded', reference: lastRefund() });
    assert.equal(stripe.netCents(), before + 899);
  });

  test('that the card did not take after all is declined, and not given again', async () => {
    const request = refundOf(await charge(), 400);
    stripe.failNext('drop_after', 'drop_after');
    await payments.refund(request);
    stripe.failRefund(lastRefund() ?? '');
    assert.equal((await payments.refund({ ...request, attempt: 1 })).kind, 'declined');
  });

  test('of a charge that Stripe does not know is declined', async () => {
    assert.equal((await payments.refund(refundOf('pi_none', 100))).kind, 'declined');
  });
});

const topUpOf = (amountCents: number) => ({
  idempotencyKey: mintId('pay'),
  amountCents,
  email: 'kim@example.com',
  metadata: { payment: 'pay_1' },
});

describe('a top-up', () => {
  test('is a checkout page that is open until it is paid', async () => {
    const opened = await payments.openTopUp(topUpOf(2_500));
    const session = stripe.sessions.get(opened.reference);
    assert.deepEqual(
      [session?.url, session?.amount_total, session?.customer_email],
      [opened.url, 2_500, 'kim@example.com'],
    );
    assert.equal(await payments.lookUpTopUp(opened.reference), 'open');
    stripe.paySession(opened.reference);
    assert.equal(await payments.lookUpTopUp(opened.reference), 'paid');
  });

  test('that nobody paid expires', async () => {
    const { reference } = await payments.openTopUp(topUpOf(2_500));
    stripe.expireSession(reference);
    assert.equal(await payments.lookUpTopUp(reference), 'expired');
  });

  test('that cannot be opened says why, and a look-up without an answer throws', async () => {
    await assert.rejects(
      payments.openTopUp(topUpOf(10)),
      (error: { code?: string; detail?: { details?: unknown } }) => {
        assert.deepEqual([error.code, error.detail?.details], ['payment_failed', { kind: 'invalid_amount' }]);
        return true;
      },
    );
    stripe.failNext('unavailable');
    await assert.rejects(payments.openTopUp(topUpOf(1_000)), { code: 'payment_failed' });
    stripe.failNext('hang');
    await assert.rejects(hasty.lookUpTopUp('cs_test_any'));
  });
});

test('without a payment provider everything is declined as unconfigured', async () => {
  const outcomes = [
    await unconfiguredPayments.charge(chargeOf('pm_card_visa')),
    await unconfiguredPayments.refund({ id: 'i', attempt: 0, requestedAt: new Date(), reference: 'r', amountCents: 1 }),
  ];
  for (const outcome of outcomes) {
    assert.equal(outcome.kind === 'declined' && outcome.failure.kind, 'payments_unconfigured');
  }
  await assert.rejects(unconfiguredPayments.openTopUp(topUpOf(100)), { code: 'payment_failed' });
  await assert.rejects(unconfiguredPayments.lookUpTopUp('cs_1'));
});

function lastRequest({ requests }: FakeStripe) {
  const request = requests.at(-1);
  assert.ok(request);
  return request;
}
