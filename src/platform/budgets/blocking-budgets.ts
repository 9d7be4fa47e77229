/** The budgets that block a call, and the refusal once one is spent. */
import { systemClock } from '../../kernel/clock/clock.ts';
import type { Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { BudgetPeriod, BudgetScope } from '../tables.ts';
import { findPeriod, periodKeySql, TODAY_SQL } from './period.ts';

/** One that applies, as it stands in its period of today. */
export interface BlockingBudget {
  readonly id: string;
  readonly scope: BudgetScope;
  readonly scope_id: string;
  readonly period: BudgetPeriod;
  readonly limit_micros: number;
  readonly spent_micros: number;
}

/** Whose usage it is. */
export interface BudgetSubject {
  readonly projectId: string;
  /** Null: the project's own. */
  readonly smithId: string | null;
  /** Default: the smith's. */
  readonly agentId?: string | null;
}

/** The budgets that apply, as a relation in SQL; null ids apply to none. Every argument is SQL. */
export function applyingBudgetsSql(names: {
  readonly project: string;
  readonly agent: string;
  readonly smith: string;
  readonly customer: string;
}): string {
  const { project, agent, smith, customer } = names;
  return `(values ('tenant', ''), ('agent', ${agent}), ('smith', ${smith}), ('customer', ${customer})) as applies (scope, id)
    join budgets b on b.project_id = ${project} and b.scope = applies.scope and b.scope_id = applies.id and b.action = 'block'`;
}

/** A list of BlockingBudget as an expression, none being an empty list. Every argument is SQL. */
export function blockingBudgetsSql(names: Parameters<typeof applyingBudgetsSql>[0]): string {
  return `(
    select coalesce(jsonb_agg(jsonb_build_object('id', b.id, 'scope', b.scope, 'scope_id', b.scope_id, 'period', b.period,
      'limit_micros', b.limit_micros, 'spent_micros', coalesce(p.spent_micros, 0)) order by b.id), '[]'::jsonb)
    from ${applyingBudgetsSql(names)}
    left join budget_periods p on p.project_id = b.project_id and p.budget_id = b.id
      and p.period_key = ${periodKeySql('b.period', TODAY_SQL)})`;
}

export async function findBlockingBudgets(
  db: Executor,
  { projectId, smithId, agentId = null }: BudgetSubject,
): Promise<readonly BlockingBudget[]> {
  const { rows } = await db.query<{ budgets: BlockingBudget[] }>({
    ...statement,
    values: [projectId, smithId, agentId],
  });
  return rows[0]?.budgets ?? [];
}

const statement = {
  text: `
    select ${blockingBudgetsSql({ project: '$1', agent: 'coalesce($3, s.agent_id)', smith: 's.id', customer: 's.customer_id' })} as budgets
    from (values (1)) as one (row) left join smiths s on s.project_id = $1 and s.id = $2`,
};

/** Throws `budget_exceeded` where one of them is spent. */
export function throwIfSpent(budgets: readonly BlockingBudget[]): void {
  const spent = budgets.find(({ spent_micros, limit_micros }) => spent_micros >= limit_micros);
  if (spent !== undefined) throw budgetExceeded(spent, 'spent');
}

const MICROS_PER_DOLLAR = 1_000_000;

/**
 * `reserved`: what is left of it may be needed by calls under way. No `Retry-After`: waiting a little does not help. The message may
 * reach end users, so the amounts are in the details alone.
 */
export function budgetExceeded(budget: BlockingBudget, reason: 'spent' | 'reserved'): ApiError {
  const { id, scope, scope_id, period, limit_micros, spent_micros } = budget;
  const [limit, spent] = [limit_micros / MICROS_PER_DOLLAR, spent_micros / MICROS_PER_DOLLAR];
  const resetsAt = findPeriod(period, systemClock.now()).end?.toISOString() ?? null;
  const whose = scope === 'tenant' ? 'the project' : `${scope} ${scope_id}`;
  const state = reason === 'spent' ? 'is spent' : 'may be spent by calls under way, which have reserved the rest of it';
  const wait = resetsAt === null ? '' : `, or wait until ${resetsAt}`;
  return new ApiError('budget_exceeded', {
    message: `The ${period} budget ${id} of ${whose} ${state}. Raise its limit or change its action with \`PATCH /v1/budgets/${id}\`${wait}.`,
    details: {
      budget_id: id,
      scope,
      scope_id: scope_id === '' ? null : scope_id,
      period,
      limit,
      spent,
      reason,
      resets_at: resetsAt,
    },
  });
}
