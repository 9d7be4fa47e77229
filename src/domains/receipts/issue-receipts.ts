/**
 * Issues a receipt for every payment that was made: charges of orders, top-ups, and refunds, whose amounts are less than nothing. Play
 * money and what the operator credits are no payments.
 *
 * The payment is marked, the year's next number taken and the receipt written in one transaction, with the number's row held until it ends:
 * numbers have no gaps, also where a process dies, and no payment has two receipts.
 */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { readBuyer } from './read-buyer.ts';
import { type Seller, splitVat } from './seller.ts';
import { findChargeReceipt, listPaymentsWithout, markPayment, type PaidPayment } from './store.ts';

export interface ReceiptDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly seller?: Seller | undefined;
}

const QUEUE = 'domains.receipts';
const EVERY_MINUTE = '* * * * *';
const BATCH_SIZE = 100;

/** Before the jobs are started. Without a seller there are no receipts; once there is one, earlier payments get theirs. */
export function defineReceipts(jobs: Jobs, deps: ReceiptDependencies): void {
  jobs.define(QUEUE, ({ signal }) => issueReceipts(deps, signal), { concurrency: 1, retryLimit: 0 });
  if (deps.seller !== undefined) jobs.schedule(QUEUE, EVERY_MINUTE, {});
}

/** Of every payment that has none, oldest first. Any number of processes may do so at a time. */
export async function issueReceipts(deps: ReceiptDependencies, signal?: AbortSignal): Promise<void> {
  const { db, seller } = deps;
  if (seller === undefined) return;
  for (;;) {
    const batch = await listPaymentsWithout(systemDb(db), BATCH_SIZE);
    for (const payment of batch) {
      if (signal?.aborted === true) return;
      await db.transaction((tx) => issue(tx, deps.clock.now(), seller, payment));
    }
    if (batch.length < BATCH_SIZE) return;
  }
}

async function issue(tx: Transaction, now: Date, seller: Seller, seen: PaidPayment): Promise<void> {
  const scoped = workspaceDb(tx, seen.workspace_id);
  const payment = await markPayment(scoped, seen.id);
  // Another process has issued it.
  if (payment === undefined) return;
  const totalCents = payment.kind === 'refund' ? -payment.amount_cents : payment.amount_cents;
  const charged = payment.kind === 'refund' ? await findChargeReceipt(scoped, payment.order_id) : undefined;
  // What is given back was sold at the rate of its day.
  const vatBasisPoints = charged?.vat_basis_points ?? seller.vatBasisPoints;
  const { netCents, vatCents } = splitVat(totalCents, vatBasisPoints);
  const description = await describe(tx, seen);
  const buyer = await readBuyer(tx, seen.workspace_id);
  const number = await takeNumber(tx, now.getUTCFullYear());
  await scoped
    .insertInto('receipts')
    .values({
      id: mintId('rcp'),
      payment_id: payment.id,
      number,
      issued_at: now,
      description,
      refunds_number: charged?.number ?? null,
      total_cents: totalCents,
      net_cents: netCents,
      vat_cents: vatCents,
      vat_basis_points: vatBasisPoints,
      seller: json(seller.lines),
      buyer: json(buyer),
    })
    .execute();
}

/** The year's next one, `2027-000001`: last, as everybody waits for who holds it. */
async function takeNumber(tx: Transaction, year: number): Promise<string> {
  const { last_number: number } = await systemDb(tx)
    .insertInto('receipt_numbers')
    .values({ year, last_number: 1 })
    .onConflict((conflict) =>
      conflict.column('year').doUpdateSet((eb) => ({ last_number: eb('receipt_numbers.last_number', '+', 1) })),
    )
    .returning('last_number')
    .executeTakeFirstOrThrow();
  return `${year}-${String(number).padStart(6, '0')}`;
}

const SOLD = {
  registration: 'Registration of',
  renewal: 'Renewal of',
  transfer: 'Transfer of',
  restoration: 'Restoration of',
  trade: 'Change of the holder of',
} as const;

async function describe(tx: Transaction, payment: PaidPayment): Promise<string> {
  if (payment.order_id === null) return 'Wallet top-up';
  const order = await workspaceDb(tx, payment.workspace_id)
    .selectFrom('orders')
    .select(['kind', 'name', 'years'])
    .where('id', '=', payment.order_id)
    .executeTakeFirstOrThrow();
  const term = order.years === 0 ? '' : `, ${order.years} ${order.years === 1 ? 'year' : 'years'}`;
  return `${payment.kind === 'refund' ? 'Refund: ' : ''}${SOLD[order.kind]} ${order.name}${term}`;
}
