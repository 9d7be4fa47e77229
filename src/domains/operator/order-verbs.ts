/** What an operator does about orders that do not end by themselves. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { type AnswerOf, OperatorError, type VerbHandlers } from '../../kernel/operator/index.ts';
import {
  endByHand,
  findAnyOrder,
  isBeingCharged,
  isEnded,
  isWorkedOn,
  listAttention,
  type OrderRow,
  retryOrder,
} from '../orders/index.ts';
import { systemDb } from '../workspace-scope.ts';
import type { DomainVerbs } from './verbs.ts';

const LISTED = 1_000;

type OrderVerbs = Pick<
  VerbHandlers<DomainVerbs>,
  'orders_needing_attention' | 'show_order' | 'retry_order' | 'end_order'
>;

export function createOrderVerbs(hands: { readonly db: Database; readonly clock: Clock }): OrderVerbs {
  const { db, clock } = hands;
  async function find(id: string): Promise<OrderRow> {
    const order = await findAnyOrder({ db }, id);
    if (order === undefined) throw new OperatorError(`There is no order ${id}. Name it by its id, ord_….`);
    return order;
  }
  async function findLive(id: string): Promise<OrderRow> {
    const order = await find(id);
    if (isEnded(order)) throw new OperatorError(`The order ${id} has ended already: it is ${order.state}.`);
    return order;
  }
  return {
    async orders_needing_attention() {
      return { orders: (await listAttention(systemDb(db), LISTED)).map(describe) };
    },
    async show_order({ id }) {
      return describe(await find(id));
    },
    async retry_order({ id }) {
      await retryOrder(hands, await findLive(id));
      return describe(await find(id));
    },
    async end_order({ id, end, reason }) {
      const order = await findLive(id);
      if (isWorkedOn(order, clock.now())) {
        throw new OperatorError(`The order ${id} is being worked on at this moment. Try again in a minute.`);
      }
      if (end === 'completed' && order.state === 'paying') {
        throw new OperatorError(`The order ${id} is not paid for yet, so it cannot be completed.`);
      }
      if (end === 'failed' && isBeingCharged(order)) {
        throw new OperatorError(
          `The order ${id} waits for the payment provider: it is not known whether its card was charged, and what was would not be given back. ` +
            'It is asked again until it says so.',
        );
      }
      if ((await endByHand(hands, order, end, reason)) === undefined) {
        throw new OperatorError(`The order ${id} has changed meanwhile. Look at it again: domains order show ${id}`);
      }
      return describe(await find(id));
    },
  };
}

function describe(order: OrderRow): AnswerOf<DomainVerbs, 'show_order'> {
  return {
    id: order.id,
    workspace_id: order.workspace_id,
    kind: order.kind,
    name: order.name,
    years: order.years,
    amount_cents: order.amount_cents,
    paid_with: order.pays_with,
    state: order.state,
    submissions: order.submissions,
    created_at: order.created_at.toISOString(),
    next_look_at: order.next_look_at?.toISOString() ?? null,
    attention_since: order.attention_since?.toISOString() ?? null,
    attention_reason: order.attention_reason,
    ended_at: order.ended_at?.toISOString() ?? null,
    application_id: order.application_id,
    application: order.launch_phase && {
      ...order.launch_phase,
      amount_cents: order.application_cents,
      refunded_when_lost: order.application_refunded,
      taken_at: order.application_taken_at?.toISOString() ?? null,
    },
    claims_notice: order.claims_acceptance && {
      id: order.claims_acceptance.noticeId,
      accepted_at: order.claims_acceptance.acceptedAt,
    },
    notice_until: order.notice_until?.toISOString() ?? null,
    error: order.error_message,
    registry_said: order.registry_said,
    waits_for_credit: order.waits_for_credit,
    settled_by_hand: order.settled_by_hand,
  };
}
