/**
 * Wallets that are topped up by themselves: once what is available falls below the threshold, the saved card is charged.
 *
 *   below the threshold ──▶ open ──▶ succeeded   the wallet is credited, once, by `payment:<id>`, and there is a receipt
 *                            ▲  │──▶ declined    switched off; its owner is told by mail and by an event
 *                            └──┘ no answer: asked again under the same key, until there is one
 *
 * A charge is a row, written under the wallet's lock, before it is made, and a unique index lets one be open: any number of processes and
 * orders lead to one. The amount is never less than the threshold, so that a charge ends the fall that it is for, and no fall has two.
 * A wallet that is below nothing, as payments were disputed, waits for its owner.
 */

import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import { json } from '../../../kernel/db/values.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { earliestOf, millisecondsUntil } from '../../../kernel/periodic/next-due.ts';
import { appendEvent } from '../../events/index.ts';
import type { Mailer } from '../../mail/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { credit, lockWallet } from '../ledger.ts';
import type { PaymentFailure, Payments } from '../payments/payments.ts';
import { findNextCardPage, settleCardPages } from './card-pages.ts';
import {
  type AutoCharge,
  claimOpen,
  closeCharge,
  findNextOpenCharge,
  insertCharge,
  listLow,
  lockSettings,
  monthOf,
  sumCharges,
} from './store.ts';
import { mailDeclines } from './tell-owners.ts';

export interface AutoTopUpDependencies {
  readonly db: Database;
  readonly payments: Payments;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mailer: Mailer;
  /** In the transaction that credits the wallet, so that what waits for money is told once it is there. */
  readonly onPaid: (tx: Transaction) => Promise<void>;
}

/** After so many the payment provider counts as unreachable: the rest waits for the next run. */
const FAILURES_A_RUN = 3;

/** What is due, once. Any number of processes may do so at a time. */
export async function runAutoTopUps(deps: AutoTopUpDependencies, signal?: AbortSignal): Promise<void> {
  if (!deps.payments.isConfigured) return;
  await settleCardPages(deps, signal);
  let unknown = 0;
  const isOver = () => signal?.aborted === true || unknown >= FAILURES_A_RUN;
  for (const charge of await claimOpen(asLook(deps.db), deps.clock.now())) {
    if (isOver()) return;
    if (!(await settle(deps, charge))) unknown += 1;
  }
  for (const workspaceId of await listLow(deps.db, monthOf(deps.clock.now()))) {
    if (isOver()) return;
    const charge = await deps.db.transaction((tx) => begin(tx, deps.clock.now(), workspaceId));
    if (charge !== undefined && !(await settle(deps, charge))) unknown += 1;
  }
  await mailDeclines(deps);
}

/** Milliseconds until the payment provider is asked again about a page or a charge; undefined: it need not be. */
export async function findNextTopUpLook({
  clock,
  db,
  payments,
}: Omit<AutoTopUpDependencies, 'onPaid'>): Promise<number | undefined> {
  if (!payments.isConfigured) return undefined;
  const times = await Promise.all([findNextCardPage(db), findNextOpenCharge(db)]);
  return millisecondsUntil(earliestOf(times), clock.now());
}

/** Writes a charge down where the wallet is low still; undefined where it is not, or the month’s limit is reached. */
async function begin(tx: Transaction, now: Date, workspaceId: string): Promise<AutoCharge | undefined> {
  const { availableCents } = await lockWallet(tx, workspaceId);
  const db = workspaceDb(tx, workspaceId);
  const { enabled, threshold_cents, amount_cents, monthly_limit_cents, ...settings } = await lockSettings(db);
  const { customer_reference: customer, card_reference: card } = settings;
  if (!enabled || threshold_cents === null || amount_cents === null) return undefined;
  if (availableCents < 0 || availableCents >= threshold_cents) return undefined;
  if (customer === null || card === null) return undefined;
  const month = monthOf(now);
  const chargedCents = await sumCharges(db, month);
  if (chargedCents + amount_cents <= (monthly_limit_cents ?? 0)) {
    return insertCharge(db, { amountCents: amount_cents, card: { customer, card }, now });
  }
  await db.updateTable('auto_top_ups').set({ limit_told_in: month }).execute();
  const data = { charged_cents: chargedCents, monthly_limit_cents, available_cents: availableCents };
  await appendEvent(tx, workspaceId, { type: 'auto_top_up.limit_reached', data });
  return undefined;
}

/** False where the outcome is not known yet. */
async function settle(deps: AutoTopUpDependencies, charge: AutoCharge): Promise<boolean> {
  const { workspace_id: workspaceId, id, amount_cents: amountCents, saved_card: card } = charge;
  const outcome = await deps.payments.charge({
    idempotencyKey: `${id}:auto_top_up`,
    requestedAt: charge.created_at,
    amountCents,
    instrument: { kind: 'saved_card', value: card.card, customer: card.customer },
    description: 'Automatic top-up of the wallet',
    metadata: { payment: id, workspace_id: workspaceId },
  });
  if (outcome.kind === 'unknown') return false;
  if (outcome.kind === 'declined') await switchOff(deps, charge, outcome.failure);
  else await complete(deps, charge, outcome.reference);
  return true;
}

async function complete(deps: AutoTopUpDependencies, charge: AutoCharge, intent: string): Promise<void> {
  const { workspace_id: workspaceId, id, amount_cents: amountCents } = charge;
  await deps.db.transaction(async (tx) => {
    await lockWallet(tx, workspaceId);
    const isMine = await closeCharge(tx, charge, { state: 'succeeded', reference: intent }, deps.clock.now());
    if (!isMine) return;
    const description = 'automatic top-up by card';
    await credit(tx, { workspaceId, source: 'card', amountCents, reference: `payment:${id}`, description });
    await deps.onPaid(tx);
  });
  deps.logger.info({ workspaceId, paymentId: id, amountCents }, 'a wallet was topped up by itself');
}

async function switchOff(deps: AutoTopUpDependencies, charge: AutoCharge, failure: PaymentFailure): Promise<void> {
  const { workspace_id: workspaceId, id, amount_cents, saved_card } = charge;
  const { kind, message } = failure;
  await deps.db.transaction(async (tx) => {
    await lockWallet(tx, workspaceId);
    const isMine = await closeCharge(tx, charge, { state: 'declined', failure: { kind, message } }, deps.clock.now());
    if (!isMine) return;
    const db = workspaceDb(tx, workspaceId);
    const { card_reference } = await lockSettings(db);
    // Its owner has saved another card meanwhile: that one has not been tried.
    if (card_reference !== saved_card.card) return;
    const off = { enabled: false, failure: json({ kind, message }), untold_payment_id: id };
    await db.updateTable('auto_top_ups').set(off).execute();
    const data = { payment_id: id, amount_cents, failure: { kind, message } };
    await appendEvent(tx, workspaceId, { type: 'auto_top_up.switched_off', data });
  });
  deps.logger.warn(
    { workspaceId, paymentId: id, reason: message },
    'an automatic top-up was declined, and is switched off',
  );
}
