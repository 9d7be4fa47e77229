import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { OrganizationRead } from '../../access/operation.ts';
import { type Billing, listLedger as listRows } from '../../billing/index.ts';

export function listLedger({ currency }: Pick<Billing, 'currency'>) {
  return async ({ db, caller, query }: OrganizationRead<{ query: { limit?: number; cursor?: string } }>) => {
    const page = readPage(query, [viewOf(caller), 'organization.billing.ledger']);
    const rows = await listRows(db, caller.organizationId, page);
    return pageReply(
      rows,
      page,
      (row) => row.id,
      // Wallets of another currency stop the start.
      ({ created_at, ...row }) => ({ ...row, currency, created_at: created_at.toISOString() }),
    );
  };
}
