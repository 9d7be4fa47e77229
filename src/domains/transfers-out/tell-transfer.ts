import type { Transaction } from '../../kernel/db/database.ts';
import { appendEvent } from '../events/index.ts';
import type { DomainRow } from '../portfolio/index.ts';
import type { TransferOut } from '../tables.ts';

const TYPES = {
  pending: 'transfer_out.requested',
  approved: 'transfer_out.approved',
  rejected: 'transfer_out.rejected',
  cancelled: 'transfer_out.cancelled',
} as const;

/** In the transaction that writes down the transfer's new state. */
export async function tellTransfer(tx: Transaction, row: DomainRow, transfer: TransferOut): Promise<void> {
  const { requestedBy, requestedAt, actsAt, state } = transfer;
  const data = { domain: row.name, requested_by: requestedBy, requested_at: requestedAt, acts_at: actsAt };
  await appendEvent(tx, row.workspace_id, { type: TYPES[state], data });
}
