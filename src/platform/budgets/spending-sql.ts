/** How usage counts in budgets: CTEs of the statement that records it. */
import { periodKeySql } from './period.ts';

/** What budgets limit. Meter events have no cost, and what external systems report was not spent here. */
export const BUDGETED_SOURCES = ['turn', 'embedding', 'sandbox'] as const;

const BUDGETED = BUDGETED_SOURCES.map((source) => `'${source}'`).join(', ');

/**
 * Adds what was used to the budgets that apply, and gives back the reservations for which `released` holds; in one row a
 * period, as a statement changes a row once. `rows` is a relation of usage by its key with `cost_micros`, `added` one that
 * has to be written first, so that every statement takes its locks in one order. Every argument is SQL.
 *
 * The relation `budget_added` has the periods that changed.
 */
export function spendBudgetsSql(names: {
  readonly project: string;
  readonly rows: string;
  readonly added: string;
  readonly released: string;
}): string {
  const { project, rows, added, released } = names;
  return `
    budget_released as (
      delete from budget_reservations where project_id = ${project} and ${released}
      returning budget_id, period_key, amount_micros
    ), budget_changes as (
      select c.id, c.period_key, max(c.limit_micros) as limit_micros, sum(c.spent)::bigint as spent,
        sum(c.released)::bigint as released
      from (
        select b.id, ${periodKeySql('b.period', 'r.day')} as period_key, b.limit_micros, r.cost_micros as spent, 0 as released
        from ${rows} r
        cross join lateral (values ('tenant', ''), ('agent', nullif(r.agent_id, '')), ('smith', nullif(r.smith_id, '')),
          ('customer', nullif(r.customer_id, ''))) as applies (scope, id)
        join budgets b on b.project_id = ${project} and b.scope = applies.scope and b.scope_id = applies.id
        where r.cost_micros > 0 and r.source in (${BUDGETED}) and (select count(*) from ${added}) > 0
        union all
        select b.id, r.period_key, b.limit_micros, 0, r.amount_micros
        from budget_released r join budgets b on b.project_id = ${project} and b.id = r.budget_id
      ) c
      group by c.id, c.period_key
    ), budget_added as (
      insert into budget_periods as p (project_id, budget_id, period_key, spent_micros, reserved_micros, limit_micros)
      select ${project}, id, period_key, spent, -released, limit_micros from budget_changes order by id, period_key
      on conflict (project_id, budget_id, period_key) do update
        set spent_micros = p.spent_micros + excluded.spent_micros,
          reserved_micros = p.reserved_micros + excluded.reserved_micros
      returning due_tier > announced as is_due
    )`;
}

/** Whether a threshold has been crossed that no event has told of yet. */
export const BUDGET_CROSSED_SQL = 'exists (select from budget_added where is_due)';

/** Wakes those who tell of thresholds. */
export const BUDGETS_CHANNEL = 'budget_thresholds';
