import { operationsFor } from '../../../kernel/http/operation.ts';
import { BASE_PATH } from '../../operation.ts';
import {
  type EventDependencies,
  type EventSender,
  receivePaymentEvent,
  verifySender,
} from './receive-payment-event.ts';
import { PaymentEventTaken } from './schema.ts';

const provider = operationsFor<EventSender>();
/** An event of Stripe has some KiB. */
const MAX_EVENT_BYTES = 256 * 1024;

export function disputeOperations(deps: EventDependencies) {
  return [
    provider.raw({
      id: 'payment_events.receive',
      method: 'POST',
      path: `${BASE_PATH}/stripe/webhook`,
      posture: 'public',
      summary: 'Receive an event of Stripe',
      description: 'Only Stripe calls this: what it sends is signed. An event that comes again changes nothing.',
      maxBodyBytes: MAX_EVENT_BYTES,
      reply: PaymentEventTaken,
      errors: ['not_found', 'internal'],
      verify: verifySender(deps),
      handler: receivePaymentEvent(deps),
    }),
  ];
}
