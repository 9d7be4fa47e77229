import { toEuros } from '../../prices/money.ts';
import type { TopUp } from './schema.ts';
import type { TopUpRow } from './store.ts';

export function renderTopUp(row: TopUpRow): TopUp {
  return {
    id: row.id,
    amount: toEuros(row.amount_cents),
    currency: 'EUR',
    url: row.state === 'open' ? row.provider_url : null,
    // A page is never declined: whoever pays there is asked again.
    state: row.state === 'declined' ? 'expired' : row.state,
    created_at: row.created_at.toISOString(),
  };
}
