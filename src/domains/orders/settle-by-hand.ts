/** What an operator does about an order that does not end by itself. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { explainMoney } from './applications.ts';
import { failureCodeOf, type OrderRow } from './order.ts';
import { completeOrder, failOrder } from './settle-order.ts';

interface Hands {
  readonly db: Database;
  readonly clock: Clock;
}

/** What the registry shows comes with the next sweep. */
const UNASKED = {
  habitsOf: () => ({ autoRenewGraceDays: undefined, requiredContact: [] }),
  transferOf: async () => undefined,
};

/** Whose it is, whatever the workspace. */
export function findAnyOrder({ db }: Pick<Hands, 'db'>, id: string): Promise<OrderRow | undefined> {
  return systemDb(db).selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst();
}

/** A process works on it at this moment, and may have a command under way. */
export function isWorkedOn(order: OrderRow, now: Date): boolean {
  return order.lease_until !== null && order.lease_until > now;
}

/** Its card may have been charged. Before the registry has said its price nothing is. */
export function isBeingCharged({ price_unasked: isPriceUnasked, state }: OrderRow): boolean {
  return state === 'paying' && !isPriceUnasked;
}

export function isEnded({ state }: OrderRow): boolean {
  return state === 'completed' || state === 'failed';
}

/** Has the order looked at with the next sweep, as if it were new. False: it has ended. */
export async function retryOrder({ db, clock }: Hands, order: OrderRow): Promise<boolean> {
  const retried = await workspaceDb(db, order.workspace_id)
    .updateTable('orders')
    .set({ next_look_at: clock.now(), attention_since: null, attention_reason: null, waits_for_credit: false })
    .where('id', '=', order.id)
    .where('state', 'not in', ['completed', 'failed'])
    .returning('id')
    .executeTakeFirst();
  return retried !== undefined;
}

/**
 * Ends the order as the operator has found out: `completed` captures what is held for it, `failed` gives it back. Undefined: it has ended
 * meanwhile, or a worker has sent a further command for it.
 */
export async function endByHand(
  hands: Hands,
  order: OrderRow,
  end: 'completed' | 'failed',
  reason: string,
): Promise<OrderRow | undefined> {
  const ended =
    end === 'completed'
      ? await completeOrder({ ...hands, registry: UNASKED }, order, undefined)
      : await failOrder(hands, order, {
          code: failureCodeOf(order.kind),
          message: `The order was cancelled by the operator. ${explainMoney(order)}`,
        });
  if (ended === undefined) return undefined;
  await workspaceDb(hands.db, order.workspace_id)
    .updateTable('orders')
    .set({ settled_by_hand: reason })
    .where('id', '=', order.id)
    .execute();
  return ended;
}
