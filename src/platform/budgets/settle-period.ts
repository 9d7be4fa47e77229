/** A budget's period, counted anew. */
import type { Executor } from '../../kernel/db/database.ts';
import type { BudgetPeriod, BudgetScope } from '../tables.ts';
import { dayOf, findPeriod } from './period.ts';
import { BUDGETED_SOURCES, BUDGETS_CHANNEL } from './spending-sql.ts';

export interface Budget {
  readonly project_id: string;
  readonly id: string;
  readonly scope: BudgetScope;
  readonly scope_id: string;
  readonly period: BudgetPeriod;
  readonly limit_micros: number;
}

export interface PeriodStatus {
  readonly period_key: string;
  readonly spent_micros: number;
}

const SCOPE_COLUMNS = { agent: 'agent_id', smith: 'smith_id', customer: 'customer_id' } as const;

/**
 * Holds the row of the period that `at` lies in, made where it is missing, and sets it to the sum of its days, of its
 * reservations, and to the budget's limit of now. Inside a transaction: the lock makes the sums exact, as whoever spends changes
 * the row in the statement that records the usage.
 */
export async function settlePeriod(tx: Executor, budget: Budget, at: Date): Promise<PeriodStatus> {
  const { key, start, end } = findPeriod(budget.period, at);
  const row = [budget.project_id, budget.id, key];
  await tx.query({
    text: `
      insert into budget_periods as p (project_id, budget_id, period_key, limit_micros) values ($1, $2, $3, $4)
      on conflict (project_id, budget_id, period_key) do update set limit_micros = p.limit_micros`,
    values: [...row, budget.limit_micros],
  });
  const column = budget.scope === 'tenant' ? undefined : SCOPE_COLUMNS[budget.scope];
  const { rows } = await tx.query<PeriodStatus & { is_due: boolean }>({
    text: `
      update budget_periods p set
        limit_micros = coalesce((select b.limit_micros from budgets b where b.project_id = $1 and b.id = $2), p.limit_micros),
        spent_micros = (
          select coalesce(sum(d.cost_micros), 0) from usage_daily d
          where d.project_id = $1 and d.source = any($4) and d.day >= $5::date and d.day < $6::date
          ${column === undefined ? '' : `and d.${column} = $7 and d.${column} <> ''`}),
        reserved_micros = (
          select coalesce(sum(r.amount_micros), 0) from budget_reservations r
          where r.project_id = $1 and r.budget_id = $2 and r.period_key = $3)
      where p.project_id = $1 and p.budget_id = $2 and p.period_key = $3
      returning period_key, spent_micros, due_tier > announced as is_due`,
    values: [
      ...row,
      [...BUDGETED_SOURCES],
      start === null ? '-infinity' : dayOf(start),
      end === null ? 'infinity' : dayOf(end),
      ...(column === undefined ? [] : [budget.scope_id]),
    ],
  });
  const [settled] = rows;
  if (settled === undefined) throw new Error(`the period ${key} of budget ${budget.id} is gone while it is held`);
  if (settled.is_due) tx.wake(BUDGETS_CHANNEL);
  return { period_key: settled.period_key, spent_micros: settled.spent_micros };
}
