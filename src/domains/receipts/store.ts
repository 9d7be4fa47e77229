/** Rows of receipts, and of payments that want one. */
import { type Selectable, sql } from 'kysely';
import type { WorkspaceTables } from '../tables.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';

export type ReceiptRow = Selectable<WorkspaceTables['receipts']>;
export type PaidPayment = Pick<
  Selectable<WorkspaceTables['payments']>,
  'workspace_id' | 'id' | 'kind' | 'order_id' | 'amount_cents'
>;

/** A literal, so that a prepared statement can use the partial index. */
const wantsReceipt = sql<boolean>`state = 'succeeded' and not has_receipt`;
const columns = ['workspace_id', 'id', 'kind', 'order_id', 'amount_cents'] as const;

/** Oldest first, so that a charge comes before its refund. */
export async function listPaymentsWithout(db: SystemDb, limit: number): Promise<PaidPayment[]> {
  return db
    .selectFrom('payments')
    .select(columns)
    .where(wantsReceipt)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Undefined: it has its receipt. */
export async function markPayment(db: WorkspaceDb, id: string): Promise<PaidPayment | undefined> {
  return db
    .updateTable('payments')
    .set({ has_receipt: true })
    .where('id', '=', id)
    .where(wantsReceipt)
    .returning(columns)
    .executeTakeFirst();
}

/** Of what an order's card was charged. */
export async function findChargeReceipt(
  db: WorkspaceDb,
  orderId: string | null,
): Promise<Pick<ReceiptRow, 'number' | 'vat_basis_points'> | undefined> {
  return db
    .selectFrom('receipts')
    .innerJoin('payments', (join) =>
      join
        .onRef('payments.workspace_id', '=', 'receipts.workspace_id')
        .onRef('payments.id', '=', 'receipts.payment_id'),
    )
    .select(['receipts.number', 'receipts.vat_basis_points'])
    .where('payments.order_id', '=', orderId)
    .where('payments.kind', '=', 'charge')
    .executeTakeFirst();
}

export async function findReceipt(db: WorkspaceDb, id: string): Promise<ReceiptRow | undefined> {
  return db.selectFrom('receipts').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Newest first, those older than `after`: ids are in the order in which they were made. */
export async function listReceipts(db: WorkspaceDb, after: string | undefined, limit: number): Promise<ReceiptRow[]> {
  const rows = db.selectFrom('receipts').selectAll().orderBy('id', 'desc').limit(limit);
  return (after === undefined ? rows : rows.where('id', '<', after)).execute();
}
