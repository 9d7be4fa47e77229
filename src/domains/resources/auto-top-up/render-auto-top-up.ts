import { toEuros } from '../../prices/money.ts';
import { type AutoTopUpRow, monthOf, sumCharges } from '../../wallet/index.ts';
import type { WorkspaceDb } from '../../workspace-scope.ts';
import type { AutoTopUp } from './schema.ts';

export async function renderAutoTopUp(db: WorkspaceDb, row: AutoTopUpRow | undefined, now: Date): Promise<AutoTopUp> {
  const euros = (cents: number | null | undefined) => (cents === null || cents === undefined ? null : toEuros(cents));
  return {
    enabled: row?.enabled ?? false,
    threshold: euros(row?.threshold_cents),
    amount: euros(row?.amount_cents),
    monthly_limit: euros(row?.monthly_limit_cents),
    charged_this_month: toEuros(await sumCharges(db, monthOf(now))),
    currency: 'EUR',
    card: row === undefined || row.card_reference === null ? 'none' : 'saved',
    card_url: row?.page_url ?? null,
    failure: row?.failure ?? null,
    updated_at: row?.updated_at.toISOString() ?? null,
  };
}
