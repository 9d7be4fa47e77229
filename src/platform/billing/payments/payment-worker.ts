/**
 * Money that no request waits for: payments whose outcome is not known are looked up, less and less often, and wallets that have
 * come down to their threshold are reloaded. Every replica runs it; what one works on is leased.
 */

import type { Transaction } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import { createPeriodicWorker, UNTOLD_LOOK_MS } from '../../../kernel/periodic/periodic-worker.ts';
import { readAutoreloadDue } from './autoreload-due.ts';
import { chargePayment } from './charge-card.ts';
import {
  insertPayment,
  LEASE_MS,
  lockWallet,
  type Payment,
  type PaymentDependencies,
  settle,
  settlementOfPage,
} from './payment.ts';

const INTERVAL_MS = 2_000;
/** In one pass. */
const BATCH = 20;
/** After so many the payment service counts as unreachable: the rest waits for the next pass. */
const FAILURES_A_PASS = 3;
/** How long a page is waited for that was asked for and is not known: twice as long as Stripe keeps one open. */
const PAGE_LIFETIME_MS = 48 * 3_600_000;

export interface PaymentWorkerDependencies extends PaymentDependencies {
  readonly currency: string;
  /** Whether usage is drawn from wallets: those that nothing is drawn from are not reloaded. */
  readonly drawsCredits: boolean;
}

export interface PaymentWorker {
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createPaymentWorker(deps: PaymentWorkerDependencies): PaymentWorker {
  const worker = createPeriodicWorker({
    name: 'wallet payments',
    intervalMs: INTERVAL_MS,
    store: deps.db,
    quietMs: UNTOLD_LOOK_MS,
    pass: async (signal) => {
      await lookUpPayments(deps, signal);
      if (deps.drawsCredits) await reloadWallets(deps, signal);
      return findNextLook(deps);
    },
    logger: deps.logger,
  });
  return {
    async start() {
      worker.start();
    },
    stop: () => worker.stop(),
  };
}

/** Looks up the open payments that are due. Repeating it, also at the same time, books nothing twice. */
export async function lookUpPayments(deps: PaymentWorkerDependencies, signal?: AbortSignal): Promise<void> {
  await inTurn(deps, await claimDue(deps), signal, async (payment) => {
    const settled = await lookUp(deps, payment);
    if (settled.state === 'open') await lookAgainLater(deps, payment);
  });
}

async function lookUp(deps: PaymentWorkerDependencies, payment: Payment): Promise<Payment> {
  if (payment.kind === 'reload' || payment.kind === 'autoreload') return chargePayment(deps, payment);
  const ageMs = deps.clock.now().getTime() - payment.created_at.getTime();
  // A page whose address nobody was given: the caller may repeat the call with its key.
  if (payment.session_id === null && ageMs < PAGE_LIFETIME_MS) return payment;
  const page = payment.session_id === null ? undefined : await (await deps.openPayments()).findPage(payment.session_id);
  // However old the payment: its page may have been opened late.
  const settlement = settlementOfPage(payment, page);
  return settlement === undefined ? payment : deps.db.transaction((tx) => settle(tx, deps, payment, settlement));
}

/** Milliseconds until the next open payment is looked up. */
async function findNextLook({ db, clock }: PaymentWorkerDependencies): Promise<number | undefined> {
  const { rows } = await db.query<{ next_look_at: Date }>({
    text: `select next_look_at from wallet_payments where state = 'open' order by next_look_at limit 1`,
    values: [],
  });
  return rows[0] && rows[0].next_look_at.getTime() - clock.now().getTime();
}

async function claimDue({ db, clock }: PaymentWorkerDependencies): Promise<Payment[]> {
  const now = clock.now();
  const { rows } = await asLook(db).query<Payment>({
    text: `
      update wallet_payments p set next_look_at = $2
      from (
        select organization_id, id from wallet_payments where state = 'open' and next_look_at <= $1
        order by next_look_at limit ${BATCH} for update skip locked
      ) due
      where p.organization_id = due.organization_id and p.id = due.id
      returning p.*`,
    values: [now, new Date(now.getTime() + LEASE_MS)],
  });
  return rows;
}

/** A tenth of its age from now, a minute at least and an hour at most. */
async function lookAgainLater({ db, clock }: PaymentWorkerDependencies, payment: Payment): Promise<void> {
  const now = clock.now().getTime();
  const waitMs = Math.min(Math.max((now - payment.created_at.getTime()) / 10, 60_000), 3_600_000);
  await db.query({
    text: `update wallet_payments set next_look_at = $3 where organization_id = $1 and id = $2 and state = 'open'`,
    values: [payment.organization_id, payment.id, new Date(now + waitMs)],
  });
}

/**
 * Charges the card of each wallet that is down to its threshold. The charge is written down under the wallet's lock, one at a time,
 * before it is made: a replica that dies between the two leaves it to `lookUpPayments`, which repeats it with its key.
 */
export async function reloadWallets(deps: PaymentWorkerDependencies, signal?: AbortSignal): Promise<void> {
  const due = await readAutoreloadDue(deps.db, deps.clock.now(), { limit: BATCH });
  await inTurn(deps, due, signal, async ({ organization_id: organizationId }) => {
    const payment = await deps.db.transaction((tx) => beginReload(tx, deps, organizationId));
    if (payment !== undefined) await chargePayment(deps, payment);
  });
}

async function beginReload(
  tx: Transaction,
  { clock, currency }: PaymentWorkerDependencies,
  organizationId: string,
): Promise<Payment | undefined> {
  await lockWallet(tx, organizationId);
  const [wallet] = await readAutoreloadDue(tx, clock.now(), { limit: 1, organizationId });
  if (wallet === undefined) return undefined;
  const { amount_cents: amountCents, card_id: cardId } = wallet;
  return insertPayment(tx, clock, { organizationId, kind: 'autoreload', amountCents, currency, cardId });
}

async function inTurn<Item>(
  { logger }: PaymentWorkerDependencies,
  items: readonly Item[],
  signal: AbortSignal | undefined,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let failures = 0;
  for (const item of items) {
    if (signal?.aborted === true || failures === FAILURES_A_PASS) return;
    try {
      await work(item);
    } catch (error) {
      failures += 1;
      logger.warn({ err: error }, 'a payment into a wallet could not be settled; it is tried again');
    }
  }
}
