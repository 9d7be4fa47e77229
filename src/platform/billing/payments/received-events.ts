/** The events of Stripe that were acted on. */
import type { Executor } from '../../../kernel/db/database.ts';
import type { PaymentEvent } from './card-payments.ts';

export async function wasReceived(executor: Executor, { id }: PaymentEvent): Promise<boolean> {
  return (await executor.query({ text: 'select from stripe_events where id = $1', values: [id] })).rowCount > 0;
}

/** False: it was acted on before. */
export async function keepEvent(executor: Executor, { id, type }: PaymentEvent): Promise<boolean> {
  const { rowCount } = await executor.query({
    text: 'insert into stripe_events (id, type) values ($1, $2) on conflict do nothing',
    values: [id, type],
  });
  return rowCount > 0;
}
