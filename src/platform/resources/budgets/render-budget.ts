import { ApiError } from '../../../kernel/http/errors.ts';
import type { BudgetRow, BudgetStatus as StatusRow } from '../../budgets/index.ts';
import { type Budget, type BudgetStatus, MICROS_PER_DOLLAR } from './schema.ts';

/** The public shape of a row. */
export function renderBudget({ id, scope, scope_id, period, limit_micros, action, created_at }: BudgetRow): Budget {
  return {
    id,
    scope,
    scope_id: scope_id === '' ? null : scope_id,
    period,
    limit: limit_micros / MICROS_PER_DOLLAR,
    currency: 'usd',
    action,
    created_at: created_at.toISOString(),
  };
}

export function renderBudgetStatus(row: StatusRow): BudgetStatus {
  const { limit_micros: limit, spent_micros: spent } = row;
  return {
    ...renderBudget(row),
    period_start: row.period_start.toISOString(),
    period_key: row.period_key,
    spent: spent / MICROS_PER_DOLLAR,
    pct: limit === 0 ? 100 : Math.round((spent / limit) * 10_000) / 100,
    over: spent >= limit,
  };
}

/** Micro-dollars. Throws `invalid_limit` for more than six decimals. */
export function readLimit(limit: number): number {
  const micros = Math.round(limit * MICROS_PER_DOLLAR);
  if (micros / MICROS_PER_DOLLAR === limit) return micros;
  throw new ApiError('invalid_limit', {
    param: 'limit',
    message: `\`limit\` has more than six decimals. Round it to the millionth of a dollar.`,
  });
}
