/**
 * The ledger of the organizations' wallets: double entry in whole cents, append-only. Every booking moves an amount between
 * the organization's balance and where it comes from or goes to, so that its entries sum to zero:
 *
 *   starter  ─starter──────────▶ balance ─usage──▶ usage      (draw-sql.ts, in the statement that settles what was used)
 *   card     ─topup, autoreload▶ balance ─refund, dispute─▶ card
 *   code     ─redeem───────────▶ balance
 *   operator ◀─adjustment──────▶ balance
 *
 * A booking names the one thing that it books (`reference`), and a unique index lets it be booked once. Each is one statement
 * that locks the wallet's row first, so that two bookings of an organization cannot wait for each other.
 */
import type { Executor } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';

export type CreditKind = 'starter' | 'topup' | 'autoreload' | 'redeem' | 'refund' | 'dispute' | 'adjustment';

export interface Booking {
  readonly organizationId: string;
  readonly kind: CreditKind;
  /** Added to the balance; below zero for what leaves it. */
  readonly amountCents: number;
  readonly currency: string;
  /** Such as `payment:<id>`. */
  readonly reference: string;
  readonly description: string;
}

const accountOf = {
  starter: 'starter',
  topup: 'card',
  autoreload: 'card',
  redeem: 'code',
  refund: 'card',
  dispute: 'card',
  adjustment: 'operator',
} as const satisfies Record<CreditKind, string>;

/** False: this was booked before. Throws Error where the wallet holds another currency. */
export async function book(tx: Executor, booking: Booking): Promise<boolean> {
  const { organizationId, kind, amountCents, currency, reference, description } = booking;
  if (!Number.isSafeInteger(amountCents) || amountCents === 0) {
    throw new RangeError(`an amount is a whole number of cents other than 0: ${amountCents}`);
  }
  const { rows } = await tx.query<{ currency: string; is_booked: boolean }>({
    text: statement,
    values: [organizationId, mintId('wtx'), kind, reference, description, accountOf[kind], amountCents, currency],
  });
  const row = rows[0];
  if (row === undefined) throw new Error(`the organization ${organizationId} has no wallet`);
  if (row.currency !== currency) {
    throw new Error(`the wallet of ${organizationId} holds ${row.currency}, and ${currency} cannot be booked in it`);
  }
  return row.is_booked;
}

const statement = `
  with wallet as (
    select coalesce(currency, $8) as currency from wallets where organization_id = $1 for no key update
  ), booked as (
    insert into wallet_transactions (organization_id, id, kind, reference, description)
    select $1, $2, $3, $4, $5 from wallet where wallet.currency = $8
    on conflict (reference) do nothing
    returning id
  ), entries as (
    insert into wallet_entries (organization_id, transaction_id, position, account, amount_cents)
    select $1, booked.id, side.position, side.account, side.sign * $7::bigint
    from booked cross join (values (1, $6, -1), (2, 'balance', 1)) as side (position, account, sign)
  ), moved as (
    update wallets set
      balance_cents = wallets.balance_cents + $7,
      currency = $8,
      credited_at = case when $7 > 0 then coalesce(wallets.credited_at, now()) else wallets.credited_at end,
      exhausted_at = case when wallets.balance_cents + $7 > 0 then null else wallets.exhausted_at end,
      updated_at = now()
    from booked where wallets.organization_id = $1
  )
  select currency, exists (select from booked) as is_booked from wallet`;

/** What the booking of this reference added to the balance. */
export async function readBooked(executor: Executor, reference: string): Promise<number> {
  const { rows } = await executor.query<{ amount_cents: number }>({
    text: `
      select e.amount_cents from wallet_transactions t
      join wallet_entries e on e.organization_id = t.organization_id and e.transaction_id = t.id and e.account = 'balance'
      where t.reference = $1`,
    values: [reference],
  });
  const row = rows[0];
  if (row === undefined) throw new Error(`nothing is booked as ${reference}`);
  return row.amount_cents;
}

export interface Balance {
  readonly balance_cents: number;
  /** Null before the first amount. */
  readonly currency: string | null;
  readonly stripe_customer_id: string | null;
}

export async function readBalance(executor: Executor, organizationId: string): Promise<Balance> {
  const { rows } = await executor.query<Balance>({
    text: 'select balance_cents, currency, stripe_customer_id from wallets where organization_id = $1',
    values: [organizationId],
  });
  const row = rows[0];
  if (row === undefined) throw new Error(`the organization ${organizationId} has no wallet`);
  return row;
}

export interface LedgerRow {
  readonly id: string;
  readonly amount_cents: number;
  readonly kind: CreditKind | 'usage';
  readonly description: string;
  readonly created_at: Date;
}

/** What moved the balance, newest first; up to one row more than `limit`. */
export async function listLedger(
  executor: Executor,
  organizationId: string,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<LedgerRow[]> {
  const { rows } = await executor.query<LedgerRow>({
    text: `
      select t.id, e.amount_cents, t.kind, t.description, t.created_at
      from wallet_transactions t
      join wallet_entries e on e.organization_id = t.organization_id and e.transaction_id = t.id and e.account = 'balance'
      where t.organization_id = $1 and ($2::text is null or t.id < $2)
      order by t.id desc limit $3`,
    values: [organizationId, after ?? null, limit + 1],
  });
  return rows;
}

/** Throws where a wallet holds another currency: its cents would count as this one's. */
export async function checkCurrency(executor: Executor, currency: string): Promise<void> {
  const { rows } = await executor.query<{ currency: string }>({
    text: 'select currency from wallets where currency <> $1 limit 1',
    values: [currency],
  });
  const found = rows[0]?.currency;
  if (found === undefined) return;
  throw new Error(
    `wallets hold ${found}, and IRONCRAFT_BILLING_CURRENCY is ${currency}: set it to ${found}. Amounts are not converted.`,
  );
}
