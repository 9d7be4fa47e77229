import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { UnverifiedRequest } from '../../../kernel/http/operation.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Caller } from '../../access/caller.ts';
import { wakeRenewals } from '../../renewals/index.ts';
import { receiveDispute } from '../../wallet/index.ts';
import type { PaymentEvent, Payments } from '../../wallet/payments/payments.ts';

export interface EventDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly payments: Payments;
  readonly jobs: Jobs;
}

/** The payment provider, which is no workspace: its calls have a budget of their own. */
export interface EventSender extends Caller {
  readonly event: PaymentEvent;
}

/** Throws `bad_request` and `not_found`. */
export function verifySender({ clock, payments }: EventDependencies) {
  return async ({ body, headers }: Pick<UnverifiedRequest<never, never>, 'body' | 'headers'>): Promise<EventSender> => {
    const header = headers['stripe-signature'];
    const signature = typeof header === 'string' ? header : undefined;
    const event = payments.readEvent({ bytes: body.bytes, signature, receivedAt: clock.now() });
    return { workspaceId: 'stripe', tokenId: '', scope: 'read', event };
  };
}

/** Throws `internal` where the payment provider has to send it again. */
export function receivePaymentEvent(deps: EventDependencies) {
  return async ({ caller: { event } }: { readonly caller: EventSender }) => {
    if (event.kind === 'dispute') {
      await receiveDispute({ ...deps, onPaid: (tx) => wakeRenewals(deps.jobs, tx) }, event.intent);
    }
    return { received: true as const };
  };
}
