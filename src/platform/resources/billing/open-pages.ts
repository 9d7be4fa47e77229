/** Pages of the payment service: to save a card, to pay, and to look after cards and receipts. */
import { isIP } from 'node:net';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { IdempotencyClaim } from '../../../kernel/http/operation.ts';
import type { OrganizationRead } from '../../access/operation.ts';
import { type Billing, confirmPage, openPage, readBalance } from '../../billing/index.ts';
import type { CheckoutIn, ConfirmIn, ConfirmOut, SetupIn } from './schema.ts';

type Asked<Body> = OrganizationRead<{ body: Body }> & { readonly idempotency: IdempotencyClaim | undefined };

export function openSetup(billing: Billing) {
  return async ({ caller, body, idempotency }: Asked<SetupIn>) => ({
    url: await openPage(billing, {
      organizationId: caller.organizationId,
      kind: 'setup',
      amountCents: 0,
      currency: billing.currency,
      returnUrl: checkReturnUrl(body.return_url),
      request: idempotency,
    }),
  });
}

export function openCheckout(billing: Billing) {
  return async ({ caller, body, idempotency }: Asked<CheckoutIn>) => ({
    url: await openPage(billing, {
      organizationId: caller.organizationId,
      kind: 'checkout',
      amountCents: body.amount_cents,
      currency: billing.currency,
      returnUrl: checkReturnUrl(body.return_url),
      request: idempotency,
    }),
  });
}

export function confirm(billing: Billing) {
  return async ({ caller, body }: OrganizationRead<{ body: ConfirmIn }>): Promise<ConfirmOut> =>
    confirmPage(billing, { organizationId: caller.organizationId, sessionId: body.session_id });
}

export function openPortal(billing: Billing) {
  return async ({ db, caller }: { db: Database } & OrganizationRead): Promise<{ url: string }> => {
    const payments = await billing.openPayments();
    const { stripe_customer_id: customerId } = await readBalance(db, caller.organizationId);
    if (customerId === null) throw new ApiError('no_customer');
    return { url: await payments.openPortal(customerId) };
  };
}

/** A page that leads to a script, or to a host in the clear, would be a trap for whoever has just paid. */
function checkReturnUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url === undefined || !isAllowed || url.username !== '' || url.password !== '') {
    throw new ApiError('invalid_return_url', { param: 'return_url' });
  }
  return url.href;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}
