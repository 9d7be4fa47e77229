/**
 * Payments by card that their holder disputes at the bank. The wallet follows the money, whatever was bought with it:
 *
 *   Stripe takes it ──▶ open ──▶ won    it is back at Stripe, and in the wallet
 *   (an inquiry         └─────▶ lost    it stays away
 *    takes none)
 *
 * An event only says that there is news: what is so is asked of Stripe, and booked under the dispute's id. So events may come twice, late
 * and in any order. What the bank sends back is no less than what is taken here: a wallet gives back no more than the payment brought.
 */
import { sql } from 'kysely';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { appendEvent } from '../../events/index.ts';
import type { DisputeState } from '../../tables.ts';
import { systemDb, type WorkspaceDb, workspaceDb } from '../../workspace-scope.ts';
import { lockWallet, readWallet, returnDisputed, takeDisputed } from '../ledger.ts';
import type { Dispute, Payments } from '../payments/payments.ts';
import { settleTopUp } from '../payments/top-ups.ts';

export interface DisputeDependencies {
  readonly db: Database;
  readonly payments: Payments;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In the transaction that puts money back into the wallet, so that what waits for it is told. */
  readonly onPaid: (tx: Transaction) => Promise<void>;
}

interface PaymentRow {
  readonly workspace_id: string;
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly amount_cents: number;
  readonly provider_reference: string | null;
}

/** Throws `internal` while the payment provider does not answer, or the payment is not settled here: the event is then sent again. */
export async function receiveDispute(deps: DisputeDependencies, intent: string): Promise<void> {
  const { db, payments } = deps;
  const [disputes, pages] = await Promise.all([payments.listDisputes(intent), payments.listPages(intent)]).catch(
    (error: unknown) => {
      throw new ApiError('internal', {
        message: 'The payment provider does not answer. Send the event again.',
        cause: error,
      });
    },
  );
  const payment = await findPayment(db, [intent, ...pages]);
  if (payment === undefined) {
    await requireSettled(db, disputes);
    // It is of something else that is sold by the same account.
    return;
  }
  if (payment.state === 'open') await settleTopUp(deps, payment);
  await db.transaction(async (tx) => {
    await lockWallet(tx, payment.workspace_id);
    // What came back makes room for what is taken.
    const wonFirst = disputes.toSorted((one, other) => Number(other.isReinstated) - Number(one.isReinstated));
    for (const dispute of wonFirst) await bookDispute(deps, tx, payment, dispute);
  });
}

/** Refunds name the charge that they are of, too. */
async function findPayment(db: Database, references: readonly string[]): Promise<PaymentRow | undefined> {
  return systemDb(db)
    .selectFrom('payments')
    .select(['workspace_id', 'id', 'kind', 'state', 'amount_cents', 'provider_reference'])
    .where('provider_reference', 'in', references)
    .where('kind', '<>', 'refund')
    .executeTakeFirst();
}

/** A charge whose answer was lost: it is asked about again by whoever made it. */
async function requireSettled(db: Database, disputes: readonly Dispute[]): Promise<void> {
  const ids = disputes.flatMap(({ chargeKey }) => chargeKey?.split(':')[0] ?? []);
  if (ids.length === 0) return;
  const open = await systemDb(db)
    .selectFrom('payments')
    .select('id')
    .where('id', 'in', ids)
    .where('state', '=', 'open')
    .executeTakeFirst();
  if (open === undefined) return;
  throw new ApiError('internal', { message: 'It is not known yet what became of this charge. Send the event again.' });
}

async function bookDispute(
  deps: DisputeDependencies,
  tx: Transaction,
  payment: PaymentRow,
  dispute: Dispute,
): Promise<void> {
  if (!dispute.isWithdrawn) return;
  const { workspace_id: workspaceId } = payment;
  const now = deps.clock.now();
  const db = workspaceDb(tx, workspaceId);
  const amountCents = Math.min(
    amountOf(payment, dispute),
    payment.amount_cents - (await sumOfOthers(db, payment, dispute)),
  );
  const isNew = amountCents > 0 && (await takeDisputed(tx, { workspaceId, disputeId: dispute.id, amountCents }));
  if (isNew) {
    await db
      .insertInto('disputes')
      .values({
        ...{ id: dispute.id, payment_id: payment.id, amount_cents: amountCents, state: 'open' },
        ...{ created_at: now, updated_at: now },
      })
      .execute();
    await tell(deps, tx, payment, { id: dispute.id, amountCents, state: 'open' });
    await stopAutoTopUp(tx, payment);
  }
  const known = await db
    .selectFrom('disputes')
    .select(['state', 'amount_cents'])
    .where('id', '=', dispute.id)
    .executeTakeFirst();
  // Others have taken all of the payment.
  if (known === undefined) return;
  const state = dispute.isReinstated ? 'won' : dispute.isLost ? 'lost' : 'open';
  // A dispute that is won stays so, whatever an older answer of Stripe says.
  if (known.state === state || known.state === 'won' || state === 'open') return;
  if (state === 'won') {
    await returnDisputed(tx, { workspaceId, disputeId: dispute.id });
    await deps.onPaid(tx);
  }
  await db.updateTable('disputes').set({ state, untold: true, updated_at: now }).where('id', '=', dispute.id).execute();
  await tell(deps, tx, payment, { id: dispute.id, amountCents: known.amount_cents, state });
  if (state === 'won') await allowCard(tx, payment);
}

/** Rates of exchange may make more of a dispute than was paid. */
function amountOf({ amount_cents: paidCents }: PaymentRow, { amountCents, currency }: Dispute): number {
  return currency === 'eur' ? Math.min(amountCents, paidCents) : paidCents;
}

/** What other disputes of the payment have taken, and not given back. */
async function sumOfOthers(db: WorkspaceDb, payment: PaymentRow, dispute: Dispute): Promise<number> {
  const { cents } = await db
    .selectFrom('disputes')
    .select(sql<number>`coalesce(sum(amount_cents), 0)::bigint`.as('cents'))
    .where('payment_id', '=', payment.id)
    .where('id', '<>', dispute.id)
    .where('state', '<>', 'won')
    .executeTakeFirstOrThrow();
  return Number(cents);
}

const EVENTS = { open: 'wallet.disputed', won: 'wallet.dispute_won', lost: 'wallet.dispute_lost' } as const;

/** The operator by the log, the owner by an event, and by mail once this has committed. */
async function tell(
  { logger }: DisputeDependencies,
  tx: Transaction,
  { workspace_id: workspaceId, id: paymentId }: PaymentRow,
  {
    amountCents,
    id: disputeId,
    state,
  }: { readonly id: string; readonly amountCents: number; readonly state: DisputeState },
): Promise<void> {
  const { availableCents } = await readWallet(tx, workspaceId);
  const amounts = { amount_cents: amountCents, available_cents: availableCents };
  const data = { dispute_id: disputeId, payment_id: paymentId, ...amounts };
  await appendEvent(tx, workspaceId, { type: EVENTS[state], data });
  const level = state === 'won' ? 'info' : 'error';
  logger[level](
    { workspaceId, ...data, state },
    'a payment by card is disputed; see `ironcraft domains wallet disputes`',
  );
}

/** Whoever disputes a payment would dispute the next that nobody asked for. */
async function stopAutoTopUp(tx: Transaction, { id, workspace_id: workspaceId }: PaymentRow): Promise<void> {
  const db = workspaceDb(tx, workspaceId);
  const before = await db
    .selectFrom('auto_top_ups')
    .select(['enabled', 'card_reference', 'amount_cents'])
    .forUpdate()
    .executeTakeFirst();
  if (before === undefined || before.card_reference === null) return;
  const { amount_cents, card_reference: card, enabled } = before;
  await db.updateTable('auto_top_ups').set({ disputed_card: card }).execute();
  if (!enabled) return;
  const failure = { kind: 'payment_disputed', message: 'A payment by card was disputed at the bank.' };
  await db
    .updateTable('auto_top_ups')
    .set({ enabled: false, failure: json(failure) })
    .execute();
  const data = { payment_id: id, amount_cents, failure };
  await appendEvent(tx, workspaceId, { type: 'auto_top_up.switched_off', data });
}

/** The card may be charged again, once its owner switches that on, where no other payment is in dispute or lost. */
async function allowCard(tx: Transaction, { workspace_id: workspaceId }: PaymentRow): Promise<void> {
  const db = workspaceDb(tx, workspaceId);
  const other = await db.selectFrom('disputes').select('id').where('state', '<>', 'won').executeTakeFirst();
  if (other === undefined) await db.updateTable('auto_top_ups').set({ disputed_card: null }).execute();
}
