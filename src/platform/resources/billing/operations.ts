import { operationsFor } from '../../../kernel/http/operation.ts';
import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { organization } from '../../access/operation.ts';
import type { Billing } from '../../billing/index.ts';
import { getAutoreload, putAutoreload } from './autoreload.ts';
import { getBalance } from './get-balance.ts';
import { getUsage, getUsageSeries, MAX_DAYS } from './get-usage.ts';
import { listLedger } from './list-ledger.ts';
import { confirm, openCheckout, openPortal, openSetup } from './open-pages.ts';
import { receiveStripeEvent, type StripeSender, verifyStripe } from './receive-stripe-event.ts';
import { createRedeeming } from './redeem.ts';
import { reload } from './reload.ts';
import {
  AutoreloadIn,
  AutoreloadOut,
  BalanceOut,
  CheckoutIn,
  CheckoutOut,
  ConfirmIn,
  ConfirmOut,
  LedgerEntry,
  OrgUsageOut,
  OrgUsageSeriesOut,
  PortalOut,
  RedeemIn,
  RedeemOut,
  ReloadIn,
  ReloadOut,
  SeriesQuery,
  SetupIn,
  SetupOut,
  StripeWebhookAck,
  UsageQuery,
} from './schema.ts';

const stripe = operationsFor<StripeSender>();
/** An event of Stripe has some KiB. */
const MAX_EVENT_BYTES = 512 * 1024;

const RETURN_URL = 'https://example.com/billing';

export function billingOperations({ billing }: { readonly billing: Billing }) {
  const redeeming = createRedeeming(billing);
  return [
    organization.read({
      id: 'organization.billing.balance',
      method: 'GET',
      path: '/v1/organization/billing/balance',
      posture: 'org',
      summary: 'Get the wallet’s balance',
      reply: BalanceOut,
      handler: getBalance(billing),
    }),
    organization.read({
      id: 'organization.billing.ledger',
      method: 'GET',
      path: '/v1/organization/billing/ledger',
      posture: 'org',
      summary: 'List what moved the balance, newest first',
      query: Type.Object(pageQuery),
      reply: pageOf(LedgerEntry),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listLedger(billing),
    }),
    organization.read({
      id: 'organization.billing.usage',
      method: 'GET',
      path: '/v1/organization/billing/usage',
      posture: 'org',
      summary: 'Get what each project has drawn in a month',
      description: 'With billing off nothing is drawn, and tokens are counted all the same.',
      query: UsageQuery,
      reply: OrgUsageOut,
      errors: ['invalid_period'],
      handler: getUsage(billing),
    }),
    organization.read({
      id: 'organization.billing.usage_series',
      method: 'GET',
      path: '/v1/organization/billing/usage/series',
      posture: 'org',
      summary: 'Get what each project has drawn, day by day',
      description: `Up to ${MAX_DAYS} days. The cents of a span add up, so that those of a month are the month’s.`,
      query: SeriesQuery,
      reply: OrgUsageSeriesOut,
      errors: ['invalid_period'],
      handler: getUsageSeries(billing),
    }),
    organization.turn({
      id: 'organization.billing.setup',
      method: 'POST',
      path: '/v1/organization/billing/setup',
      posture: 'org',
      summary: 'Open a page that saves a card',
      description:
        'The card is charged by `reload` and automatic reloads. The first one that an organization saves unlocks its starter credit, where the installation gives one.',
      idempotent: true,
      body: SetupIn,
      example: { return_url: RETURN_URL },
      reply: SetupOut,
      errors: ['invalid_return_url', 'stripe_unconfigured', 'stripe_error'],
      handler: openSetup(billing),
    }),
    organization.turn({
      id: 'organization.billing.checkout',
      method: 'POST',
      path: '/v1/organization/billing/checkout',
      posture: 'org',
      summary: 'Open a page that tops the wallet up',
      idempotent: true,
      body: CheckoutIn,
      example: { amount_cents: 2_500, return_url: RETURN_URL },
      reply: CheckoutOut,
      errors: ['invalid_amount', 'invalid_return_url', 'stripe_unconfigured', 'stripe_error'],
      handler: openCheckout(billing),
    }),
    organization.turn({
      id: 'organization.billing.confirm',
      method: 'POST',
      path: '/v1/organization/billing/confirm',
      posture: 'org',
      summary: 'Settle a page that was used',
      description:
        'With the `session_id` that the page has added to `return_url`. The payment service tells by itself too: whoever is first, the wallet is credited once.',
      body: ConfirmIn,
      example: { session_id: 'cs_test_a1b2c3' },
      reply: ConfirmOut,
      errors: ['session_not_found', 'session_mismatch', 'stripe_unconfigured', 'stripe_error'],
      handler: confirm(billing),
    }),
    organization.change({
      id: 'organization.billing.redeem',
      method: 'POST',
      path: '/v1/organization/billing/redeem',
      posture: 'org',
      summary: 'Redeem a code',
      body: RedeemIn,
      example: { code: 'K7QWM-2XN4R-HVT8B-3CDJP-9FYGS' },
      reply: RedeemOut,
      errors: ['invalid_code', 'code_already_redeemed'],
      precheck: redeeming.precheck,
      handler: redeeming.handler,
    }),
    organization.read({
      id: 'organization.billing.autoreload.get',
      method: 'GET',
      path: '/v1/organization/billing/autoreload',
      posture: 'org',
      summary: 'Get the automatic reload',
      reply: AutoreloadOut,
      handler: getAutoreload,
    }),
    organization.change({
      id: 'organization.billing.autoreload.put',
      method: 'PUT',
      path: '/v1/organization/billing/autoreload',
      posture: 'org',
      summary: 'Set the automatic reload',
      description:
        'When the balance comes down to the threshold the saved card is charged, one charge at a time; it may be set before a card is saved, and nothing is charged until then. After a decline it waits an hour, six, a day, then three.',
      body: AutoreloadIn,
      example: { enabled: true, threshold_cents: 500, amount_cents: 2_000 },
      reply: AutoreloadOut,
      errors: ['invalid_threshold', 'invalid_amount'],
      handler: putAutoreload,
    }),
    organization.turn({
      id: 'organization.billing.reload',
      method: 'POST',
      path: '/v1/organization/billing/reload',
      posture: 'org',
      summary: 'Charge the saved card',
      idempotent: true,
      body: ReloadIn,
      example: { amount_cents: 2_500 },
      reply: ReloadOut,
      errors: ['invalid_amount', 'no_customer', 'no_saved_card', 'stripe_unconfigured'],
      handler: reload(billing),
    }),
    organization.read({
      id: 'organization.billing.portal',
      method: 'GET',
      path: '/v1/organization/billing/portal',
      posture: 'org',
      summary: 'Open the page with cards and receipts',
      reply: PortalOut,
      errors: ['no_customer', 'stripe_unconfigured', 'stripe_error'],
      handler: openPortal(billing),
    }),
    stripe.raw({
      id: 'organization.billing.stripe_webhook',
      method: 'POST',
      path: '/v1/billing/stripe/webhook',
      posture: 'public',
      summary: 'Receive an event of Stripe',
      description: 'Only Stripe calls this: what it sends is signed. An event that comes again changes nothing.',
      maxBodyBytes: MAX_EVENT_BYTES,
      reply: StripeWebhookAck,
      errors: ['missing_signature', 'bad_signature', 'bad_webhook', 'stripe_unconfigured', 'stripe_error'],
      verify: verifyStripe(billing),
      handler: receiveStripeEvent(billing),
    }),
  ];
}
