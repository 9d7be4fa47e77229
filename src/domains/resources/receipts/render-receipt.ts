import { percentOf, type ReceiptRow } from '../../receipts/index.ts';
import type { Receipt } from './schema.ts';

export function renderReceipt(row: ReceiptRow): Receipt {
  return {
    id: row.id,
    number: row.number,
    payment_id: row.payment_id,
    description: row.description,
    refunds_number: row.refunds_number,
    total_cents: row.total_cents,
    net_cents: row.net_cents,
    vat_cents: row.vat_cents,
    vat_percent: percentOf(row.vat_basis_points),
    currency: 'EUR',
    issued_at: row.issued_at.toISOString(),
  };
}
