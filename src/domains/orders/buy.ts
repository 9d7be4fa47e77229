/** Spending calls as callers see them: place an order and wait for its outcome. */
import { ApiError } from '../../kernel/http/errors.ts';
import type { IdempotencyClaim } from '../../kernel/http/operation.ts';
import { LATE } from '../background-work.ts';
import type { Deadline } from '../deadline.ts';
import type { RegistryFee } from '../registry/registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { advanceOrder, leaseAndAdvanceOrder } from './advance-order.ts';
import { readBaseline } from './baseline.ts';
import type { OrderDependencies } from './dependencies.ts';
import { type OrderOutcome, type OrderRow, orderOutcome, type Purchase } from './order.ts';
import { findEarlier, placeOrder, type RenewedTerm, TermNotDue } from './place-order.ts';
import { findOrder } from './store.ts';

/** Waits between reads of an order whose outcome is not known, until the caller's deadline. */
const POLL_DELAYS_MS = [250, 500, 1_000, 1_500];

/**
 * Buys it and answers the order once the registry has done it or has taken it, or the deadline is there: then it goes on by itself, with
 * its hold. Throws the refusals of `placeOrder`, the order's failure (`registration_failed`, `renew_failed`, `transfer_failed`, `restore_failed`,
 * `trade_failed`, `payment_failed`), and `internal` while it is not known whether a card was charged: a repetition under the same key joins the order.
 */
export async function buy(
  deps: OrderDependencies,
  purchase: Purchase,
  { deadline, term }: { readonly deadline: Deadline; readonly term?: RenewedTerm },
): Promise<OrderRow> {
  // A card is charged first: what the registry has then may be another thing. And a trade of the same name that was under way may have
  // ended by the time that this one is placed: then there is nothing to trade.
  const isAcquiredAtOnce =
    (purchase.kind === 'registration' || purchase.kind === 'transfer') &&
    purchase.instrument === undefined &&
    purchase.isPriceUnasked !== true;
  const baseline = isAcquiredAtOnce ? await readBaseline(deps, purchase.name) : undefined;
  const { order, isNew } = await placeOrder(deps, { ...purchase, baseline }, term);
  const first = isNew ? advanceOrder(deps, order, { isFirst: true }) : Promise.resolve(orderOutcome(order));
  return waitForOutcome(deps, order, first, deadline);
}

/**
 * The outcome of the order of an earlier request under this key; undefined where there is none. Call it before any check of
 * a repeated request: the first request may be what fails the check (the name is taken, by its own order).
 * Throws as `buy`.
 */
export async function joinOrder(
  deps: OrderDependencies,
  workspaceId: string,
  claim: IdempotencyClaim | undefined,
  deadline: Deadline,
): Promise<OrderRow | undefined> {
  const order = await findEarlier(deps, deps.db, workspaceId, claim);
  return order === undefined ? undefined : waitForOutcome(deps, order, Promise.resolve(orderOutcome(order)), deadline);
}

/** Looks at the order until its outcome is known or the time is up. What is under way then goes on. */
async function waitForOutcome(
  deps: OrderDependencies,
  order: OrderRow,
  first: Promise<OrderOutcome>,
  deadline: Deadline,
): Promise<OrderRow> {
  let outcome = await deps.background.within(first, deadline.leftMs);
  for (const delayMs of POLL_DELAYS_MS) {
    if (outcome === LATE || outcome.kind !== 'unknown' || deadline.leftMs <= delayMs) break;
    await deps.background.pause(delayMs);
    outcome = await deps.background.within(readOutcome(deps, order), deadline.leftMs);
  }
  return requireBought(outcome === LATE ? orderOutcome(await getOrder(deps, order)) : outcome);
}

async function readOutcome(deps: OrderDependencies, order: OrderRow): Promise<OrderOutcome> {
  await leaseAndAdvanceOrder(deps, order.workspace_id, order.id);
  return orderOutcome(await getOrder(deps, order));
}

async function getOrder({ db }: OrderDependencies, { workspace_id: workspaceId, id }: OrderRow): Promise<OrderRow> {
  const order = await findOrder(workspaceDb(db, workspaceId), id);
  if (order === undefined) throw new Error(`the order ${id} is not there`);
  return order;
}

function requireBought({ kind, order }: OrderOutcome): OrderRow {
  switch (kind) {
    case 'completed':
    case 'pending':
      return order;
    case 'failed': {
      const details = { order_id: order.id, ...order.error_details };
      throw new ApiError(order.error_code ?? 'internal', {
        ...(order.error_message === null ? {} : { message: order.error_message }),
        details,
        ...(details && 'kind' in details && details.kind === 'card_declined' ? { status: 402 } : {}),
      });
    }
    case 'unknown':
      // The money is set aside, and the order is brought to its end whatever the registry does: that is as good as taken.
      if (order.state !== 'paying') return order;
      throw new ApiError('internal', {
        message:
          'The outcome at the payment provider is not known yet, and is being checked. ' +
          'Repeat the call with the same Idempotency-Key to learn it; nothing is bought or charged twice.',
        details: { order_id: order.id, state: 'unknown' },
      });
    default:
      return kind satisfies never;
  }
}

export interface RenewalRequest {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
  readonly years: number;
  readonly priceCents: number;
  readonly fee?: RegistryFee | undefined;
  readonly fromExpiresAt: Date;
  readonly isStillDue?: RenewedTerm['isStillDue'];
}

export type PlacedRenewal =
  | { readonly orderId: string; readonly state: OrderRow['state'] }
  | { readonly refused: 'insufficient_balance'; readonly requiredCents: number; readonly availableCents: number }
  | { readonly refused: 'in_progress' | 'not_due' };

/** A renewal by the renewal worker, paid from the wallet. One that the registry refuses has the state `failed`. */
export async function placeRenewal(deps: OrderDependencies, request: RenewalRequest): Promise<PlacedRenewal> {
  const { workspaceId, name, years, priceCents, fee, ...term } = request;
  const purchase = { workspaceId, kind: 'renewal', origin: 'auto_renew', name, years, priceCents, fee } as const;
  try {
    const { order } = await placeOrder(deps, purchase, term);
    const outcome = await advanceOrder(deps, order, { isFirst: true });
    return { orderId: order.id, state: outcome.order.state };
  } catch (error) {
    if (error instanceof TermNotDue) return { refused: 'not_due' };
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 'renewal_in_progress') return { refused: 'in_progress' };
    const { required, available } = error.detail.details ?? {};
    if (error.code !== 'insufficient_balance' || typeof required !== 'number' || typeof available !== 'number')
      throw error;
    return { refused: 'insufficient_balance', requiredCents: required, availableCents: available };
  }
}
