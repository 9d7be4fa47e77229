/** Which wallets are to be reloaded now. */
import type { Executor } from '../../../kernel/db/database.ts';

export interface DueReload {
  readonly organization_id: string;
  readonly amount_cents: number;
  readonly card_id: string;
}

/** Those that are at their threshold or below it, have a card, wait for nothing, and are not being reloaded. */
export async function readAutoreloadDue(
  executor: Executor,
  now: Date,
  { limit, organizationId }: { readonly limit: number; readonly organizationId?: string },
): Promise<DueReload[]> {
  const { rows } = await executor.query<DueReload>({
    text: `
      select w.organization_id, w.autoreload_amount_cents as amount_cents, w.stripe_card_id as card_id
      from wallets w
      where w.autoreload_enabled and w.balance_cents <= w.autoreload_threshold_cents
        and w.stripe_card_id is not null and w.stripe_customer_id is not null
        and (w.autoreload_next_at is null or w.autoreload_next_at <= $1)
        and ($2::text is null or w.organization_id = $2)
        and not exists (
          select from wallet_payments p
          where p.organization_id = w.organization_id and p.kind = 'autoreload' and p.state = 'open')
      order by w.organization_id limit $3`,
    values: [now, organizationId ?? null, limit],
  });
  return rows;
}
