/**
 * Pay-as-you-go: the card is charged before the registry is asked, and refunded when the registry refuses. The other way
 * round, a name could be ours before it turns out that the payment fails. Charges and refunds are rows first, and each is
 * sent under a key of its own, so that one whose answer was lost is asked again and never made twice.
 */
import type { Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { credit, holdCharge, isDisputed, receiveDispute, refundHeld, release } from '../wallet/index.ts';
import type { ChargeOutcome, Instrument, PaymentFailure, RefundOutcome } from '../wallet/payments/payments.ts';
import type { SystemDb } from '../workspace-scope.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { heldCentsOf } from './applications.ts';
import type { OrderDependencies } from './dependencies.ts';
import { describeOrder, type OrderRow } from './order.ts';
import { updateOrder } from './store.ts';

/** Inserts the charge that is to be made. */
export async function openCharge(
  deps: Pick<OrderDependencies, 'vault'>,
  tx: Transaction,
  order: OrderRow,
  instrument: Instrument,
): Promise<void> {
  const id = mintId('pay');
  const sealed = deps.vault.seal(JSON.stringify(instrument), instrumentContext(order.workspace_id, id));
  await workspaceDb(tx, order.workspace_id)
    .insertInto('payments')
    .values({
      id,
      kind: 'charge',
      order_id: order.id,
      amount_cents: order.amount_cents,
      state: 'open',
      sealed_instrument: sealed,
      provider_reference: null,
      provider_url: null,
      failure: null,
    })
    .execute();
}

/** What the vault ties an instrument to. */
export function instrumentContext(workspaceId: string, paymentId: string): string {
  return `domains.payments/${workspaceId}/${paymentId}`;
}

/**
 * Charges the card of an order that is `paying`. When it is charged the money is held and the order is `held`; a declined
 * charge is left to the caller to fail the order with.
 */
export async function payOrder(deps: OrderDependencies, order: OrderRow): Promise<ChargeOutcome> {
  const { db, vault, payments, clock } = deps;
  const charge = await workspaceDb(db, order.workspace_id)
    .selectFrom('payments')
    .selectAll()
    .where('order_id', '=', order.id)
    .where('kind', '=', 'charge')
    .executeTakeFirstOrThrow();
  const instrument = JSON.parse(
    vault.open(charge.sealed_instrument ?? '', instrumentContext(order.workspace_id, charge.id)),
  ) as Instrument;
  const outcome = await payments.charge({
    idempotencyKey: `${charge.id}:charge`,
    requestedAt: charge.created_at,
    amountCents: order.amount_cents,
    instrument,
    description: describeOrder(order),
    metadata: { order_id: order.id, workspace_id: order.workspace_id, domain: order.name },
  });
  if (outcome.kind !== 'succeeded') return outcome;
  await db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, order.workspace_id);
    const moved = await updateOrder(scoped, order.id, ['paying'], { state: 'held', now: clock.now() });
    // Another worker, which had the same answer, was faster.
    if (moved === undefined) return;
    await scoped
      .updateTable('payments')
      .set({ state: 'succeeded', provider_reference: outcome.reference, sealed_instrument: null })
      .where('id', '=', charge.id)
      .execute();
    const { workspace_id: workspaceId, id: orderId, amount_cents: amountCents } = order;
    await holdCharge(tx, { workspaceId, orderId, amountCents, description: describeOrder(order) });
  });
  return outcome;
}

/** Records that the charge was declined, in the transaction that fails the order. */
export async function recordDecline(tx: Transaction, order: OrderRow, failure: PaymentFailure): Promise<void> {
  await workspaceDb(tx, order.workspace_id)
    .updateTable('payments')
    .set({ state: 'declined', failure: json(failure), sealed_instrument: null })
    .where('order_id', '=', order.id)
    .where('kind', '=', 'charge')
    .execute();
}

/** Gives back what the card was charged, less what an application has cost, in the transaction that fails the order: the refund itself is sent afterwards. */
export async function openRefund(tx: Transaction, order: OrderRow): Promise<void> {
  const db = workspaceDb(tx, order.workspace_id);
  const charge = await db
    .selectFrom('payments')
    .select(['id', 'provider_reference', 'state'])
    .where('order_id', '=', order.id)
    .where('kind', '=', 'charge')
    .executeTakeFirst();
  if (charge?.state !== 'succeeded') return;
  // The card's holder has the money from the bank already, and the wallet was taken it from.
  if (await isDisputed(tx, order.workspace_id, charge.id)) {
    await release(tx, { workspaceId: order.workspace_id, orderId: order.id });
    return;
  }
  await refundHeld(tx, { workspaceId: order.workspace_id, orderId: order.id });
  const amountCents = heldCentsOf(order);
  if (amountCents === 0) return;
  await db
    .insertInto('payments')
    .values({
      id: mintId('pay'),
      kind: 'refund',
      order_id: order.id,
      amount_cents: amountCents,
      state: 'open',
      sealed_instrument: null,
      provider_reference: charge.provider_reference,
      provider_url: null,
      failure: null,
    })
    .execute();
}

type RefundDependencies = Pick<OrderDependencies, 'db' | 'payments' | 'clock' | 'logger'>;

/** Refunds sent in one sweep. */
const REFUNDS_AT_ONCE = 20;

/**
 * Sends the refunds that are open, in every workspace, oldest first. One that the payment provider refuses is logged and kept
 * as declined: a person has to give that money back, unless it is refused for a dispute. One that it failed to make is asked for as another attempt.
 */
export async function sendRefunds(deps: RefundDependencies): Promise<void> {
  // They wait for it, as top-ups do.
  if (!deps.payments.isConfigured) return;
  for (const refund of await listOpenRefunds(systemDb(deps.db))) {
    const outcome = await sendRefund(deps, refund);
    await saveRefund(deps, refund, outcome);
    // The payment provider is unreachable: orders wait for this sweep, and each further call would time out too.
    if (STATES[outcome.kind] === 'open') return;
  }
}

const STATES = { succeeded: 'succeeded', declined: 'declined', unknown: 'open', failed: 'open' } as const;

type OpenRefund = Awaited<ReturnType<typeof listOpenRefunds>>[number];

async function sendRefund({ payments, ...deps }: RefundDependencies, refund: OpenRefund): Promise<RefundOutcome> {
  const reference = refund.provider_reference ?? '';
  const outcome = await payments.refund({
    id: refund.id,
    attempt: refund.attempt,
    requestedAt: refund.created_at,
    reference,
    amountCents: refund.amount_cents,
  });
  if (outcome.kind !== 'declined' || outcome.failure.kind !== 'charge_disputed') return outcome;
  try {
    // Its event may come later, or never. Renewals that wait for money are looked at soon in any case.
    await receiveDispute({ ...deps, payments, onPaid: async () => undefined }, reference);
    return outcome;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { kind: 'unknown', reason: error.message };
  }
}

async function saveRefund(deps: RefundDependencies, refund: OpenRefund, outcome: RefundOutcome): Promise<void> {
  const { db, clock, logger } = deps;
  const { id, order_id: order, workspace_id: workspaceId, amount_cents: amountCents } = refund;
  await db.transaction(async (tx) => {
    const { numUpdatedRows } = await workspaceDb(tx, workspaceId)
      .updateTable('payments')
      .set({
        state: STATES[outcome.kind],
        // The next sweep begins with others.
        updated_at: clock.now(),
        ...(outcome.kind === 'failed' ? { attempt: refund.attempt + 1 } : {}),
        ...(outcome.kind === 'declined' ? { failure: json(outcome.failure) } : {}),
      })
      .where('id', '=', id)
      .where('state', '=', 'open')
      .executeTakeFirst();
    if (outcome.kind !== 'declined' || numUpdatedRows === 0n) return;
    const { failure } = outcome;
    if (failure.kind !== 'charge_disputed') {
      logger.error({ payment: id, order, failure }, 'a refund was refused');
      return;
    }
    // The card's holder has the money from the bank, or it came back to us; the dispute has taken it from the wallet, or given it back there.
    const [reference, description] = [`refund:${id}`, 'refund of a payment by card that was disputed'];
    await credit(tx, { workspaceId, source: 'card', amountCents, reference, description });
    logger.warn({ payment: id, order }, 'a refund went into the wallet, as the payment is disputed');
  });
}

function listOpenRefunds(db: SystemDb) {
  return db
    .selectFrom('payments')
    .select(['workspace_id', 'id', 'order_id', 'attempt', 'provider_reference', 'amount_cents', 'created_at'])
    .where('kind', '=', 'refund')
    .where('state', '=', 'open')
    .orderBy('updated_at')
    .limit(REFUNDS_AT_ONCE)
    .execute();
}
