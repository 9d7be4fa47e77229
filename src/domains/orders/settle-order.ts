/**
 * The two ends of an order, each in one transaction: the order's row, its money, and the name in the portfolio. The name's
 * row is locked first, as in placing an order: in another order the two could deadlock.
 */
import type { Transaction } from '../../kernel/db/database.ts';
import { lockDomain, recordInfo, retireDomain } from '../portfolio/index.ts';
import type { RegistryDomain } from '../registry/registry.ts';
import { addYears } from '../registry/term.ts';
import { capture, release } from '../wallet/index.ts';
import type { PaymentFailure } from '../wallet/payments/payments.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { OrderDependencies } from './dependencies.ts';
import type { OrderFailure, OrderRow } from './order.ts';
import { openRefund, recordDecline } from './pay-order.ts';
import { endOrder, updateOrder } from './store.ts';

/**
 * The registry has carried it out: the hold is captured, the name is active. `info` is what it reports now, if anything
 * yet. Undefined when the order has ended before.
 */
export async function completeOrder(
  deps: OrderDependencies,
  order: OrderRow,
  info: RegistryDomain | undefined,
): Promise<OrderRow | undefined> {
  const now = deps.clock.now();
  return deps.db.transaction(async (tx) => {
    const db = workspaceDb(tx, order.workspace_id);
    await lockDomain(db, order.domain_id);
    const ended = await endOrder(db, order.id, { now });
    if (ended === undefined) return undefined;
    if (order.amount_cents > 0) await capture(tx, { workspaceId: order.workspace_id, orderId: order.id });
    await recordTerm(tx, order, info, now);
    return ended;
  });
}

async function recordTerm(
  tx: Transaction,
  order: OrderRow,
  info: RegistryDomain | undefined,
  now: Date,
): Promise<void> {
  const place = { workspaceId: order.workspace_id, domainId: order.domain_id, name: order.name };
  if (info !== undefined) await recordInfo(tx, place, info, now);
  const from = order.from_expires_at ?? now;
  const until = info === undefined ? addYears(from, order.years) : new Date(info.expiresAt);
  await workspaceDb(tx, order.workspace_id)
    .updateTable('domains')
    .set({
      state: 'active',
      billed_until: until,
      expires_at: until,
      renewal_state: order.kind === 'renewal' ? 'renewed' : 'not_due',
      renewal_reason: null,
      renewal_shortfall_cents: null,
      // Buying a further term takes back a scheduled release.
      ...(order.kind === 'renewal' ? { release_at: null } : {}),
    })
    .where('id', '=', order.domain_id)
    .where('state', '<>', 'gone')
    .execute();
}

/** The registry has accepted it and will report its end later. */
export async function markPending(
  deps: OrderDependencies,
  order: OrderRow,
  nextLookAt: Date,
): Promise<OrderRow | undefined> {
  const db = workspaceDb(deps.db, order.workspace_id);
  return updateOrder(db, order.id, ['submitted', 'pending'], {
    state: 'pending',
    nextLookAt,
    isLeased: false,
    now: deps.clock.now(),
  });
}

/**
 * Nothing was bought: the hold is released or the charge refunded, and a name that was being acquired leaves the
 * portfolio. `submissions`: as many commands as the caller knows to be answered; where more were sent, another worker
 * has the order, and nothing happens. Undefined then, or when the order has ended before.
 */
export async function failOrder(
  deps: OrderDependencies,
  order: OrderRow,
  failure: OrderFailure,
  options: { readonly declined?: PaymentFailure } = {},
): Promise<OrderRow | undefined> {
  const now = deps.clock.now();
  const { workspace_id: workspaceId, domain_id: domainId, name } = order;
  return deps.db.transaction(async (tx) => {
    const db = workspaceDb(tx, workspaceId);
    await lockDomain(db, domainId);
    const ended = await endOrder(db, order.id, { now, failure, submissions: order.submissions });
    if (ended === undefined) return undefined;
    if (options.declined !== undefined) await recordDecline(tx, order, options.declined);
    else if (order.pays_with === 'card') await openRefund(tx, order);
    else if (order.amount_cents > 0) await release(tx, { workspaceId, orderId: order.id });
    if (order.kind === 'renewal') {
      await db
        .updateTable('domains')
        .set({ renewal_state: 'failed', renewal_reason: failure.message })
        .where('id', '=', domainId)
        .execute();
    } else {
      await retireDomain(tx, { workspaceId, domainId, name }, now);
    }
    return ended;
  });
}
