/**
 * What usage draws from the wallet: common table expressions of the statement that records what a call cost, so that both
 * are there or neither is. Nothing is rounded: costs are micro-US-dollars, and
 *
 *   micro-dollars × (100 + markup in percent) × rate in millionths  =  units of 10^-12 cents
 *
 * is a whole number. It is added to the wallet's carry, whole cents of it are booked, and the rest is carried. So what was
 * booked in any span of time differs from the exact sum by less than one cent.
 */
export interface DrawTerms {
  readonly currency: string;
  readonly markupPercent: number;
  readonly usdRateMillionths: number;
}

/** The statement without draws, and with those of each terms: a process has one of them. */
export function createDrawStatements<Statement>(
  make: (terms: DrawTerms | undefined) => Statement,
): (terms: DrawTerms | undefined) => Statement {
  const made = new Map<DrawTerms | undefined, Statement>();
  return (terms) => {
    const known = made.get(terms);
    if (known !== undefined) return known;
    const statement = make(terms);
    made.set(terms, statement);
    return statement;
  };
}

/** In a cent. */
export const UNITS_A_CENT = 1_000_000_000_000n;

/** What one micro-US-dollar of cost is worth, in units of 10^-12 cents. */
export function unitsAMicroDollar({ markupPercent, usdRateMillionths }: DrawTerms): bigint {
  return BigInt(100 + markupPercent) * BigInt(usdRateMillionths);
}

/**
 * The expressions, with commas between them. `source` is SQL that selects at most one row: `project_id` and `cost_micros`,
 * whose sum over time is what is drawn. `id` is the placeholder of an id `wtx_…`, which is used where a whole cent is reached.
 */
export function drawSql(terms: DrawTerms, { source, id }: { readonly source: string; readonly id: string }): string {
  const factor = unitsAMicroDollar(terms);
  if (!/^[a-z]{3}$/.test(terms.currency)) throw new TypeError(`${terms.currency} is no currency`);
  return `
    wallet_cost as (
      select p.organization_id, s.project_id, s.cost_micros::numeric * ${factor} as cost
      from (${source}) as s join projects p on p.id = s.project_id
      where s.cost_micros > 0
    ), wallet_drawing as (
      update wallets set
        balance_cents = wallets.balance_cents - div(wallets.carry + c.cost, ${UNITS_A_CENT})::bigint,
        carry = mod(wallets.carry + c.cost, ${UNITS_A_CENT})::bigint,
        currency = coalesce(wallets.currency, '${terms.currency}'),
        updated_at = now()
      from wallet_cost c where wallets.organization_id = c.organization_id
      -- What is carried has become less than what the cost adds to it exactly where a cent was filled beside the cost's own.
      returning wallets.organization_id, c.project_id, c.cost,
        (div(c.cost, ${UNITS_A_CENT}) + case when wallets.carry < mod(c.cost, ${UNITS_A_CENT}) then 1 else 0 end)::bigint as cents
    ), wallet_day as (
      insert into wallet_draws (organization_id, day, project_id, cost, drawn_cents)
      select b.organization_id, (now() at time zone 'utc')::date, b.project_id, b.cost, b.cents from wallet_drawing b
      on conflict (organization_id, day, project_id) do update
        set cost = wallet_draws.cost + excluded.cost, drawn_cents = wallet_draws.drawn_cents + excluded.drawn_cents
    ), wallet_drawn as (
      insert into wallet_transactions (organization_id, id, kind, description, reference, project_id)
      select b.organization_id, ${id}, 'usage', 'usage', 'usage:' || ${id}, b.project_id
      from wallet_drawing b where b.cents > 0
    ), wallet_sides as (
      insert into wallet_entries (organization_id, transaction_id, position, account, amount_cents)
      select b.organization_id, ${id}, side.position, side.account, side.sign * b.cents
      from wallet_drawing b cross join (values (1, 'balance', -1), (2, 'usage', 1)) as side (position, account, sign)
      where b.cents > 0
    )`;
}
