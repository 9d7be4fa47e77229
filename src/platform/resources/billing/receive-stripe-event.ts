import type { Database } from '../../../kernel/db/database.ts';
import type { UnverifiedRequest } from '../../../kernel/http/operation.ts';
import type { OrganizationCaller } from '../../access/caller.ts';
import { type Billing, type PaymentEvent, receiveEvent } from '../../billing/index.ts';

/** Stripe, speaking of one organization's payment: the call takes from that organization's budget. */
export interface StripeSender extends OrganizationCaller {
  readonly event: PaymentEvent;
}

export function verifyStripe({ openPayments, clock }: Billing) {
  return async ({
    body,
    headers,
  }: Pick<UnverifiedRequest<never, never>, 'body' | 'headers'>): Promise<StripeSender> => {
    const payments = await openPayments();
    const header = headers['stripe-signature'];
    const signature = typeof header === 'string' ? header : undefined;
    const event = await payments.readEvent({ bytes: body.bytes, signature, receivedAt: clock.now() });
    const organizationId = 'label' in event && event.label !== undefined ? event.label.organizationId : 'stripe';
    return { kind: 'organization', organizationId, tokenId: '', event };
  };
}

export function receiveStripeEvent(billing: Billing) {
  return async ({ caller }: { readonly caller: StripeSender; readonly db: Database }) => {
    await receiveEvent(billing, caller.event);
    return { received: true as const };
  };
}
