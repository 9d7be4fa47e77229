import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { findBudget, settleBudget } from '../../budgets/index.ts';
import { renderBudget, renderBudgetStatus } from './render-budget.ts';
import type { Budget, BudgetPath, BudgetStatus } from './schema.ts';

export async function getBudget({ db, params }: ProjectRead<{ params: BudgetPath }>): Promise<Budget> {
  const row = await findBudget(db, params.bid);
  if (row === undefined) throw new ApiError('not_found');
  return renderBudget(row);
}

/** Counted anew, so that it is exact whatever happened before. */
export async function getBudgetStatus({ db, params }: ProjectRead<{ params: BudgetPath }>): Promise<BudgetStatus> {
  return db.transaction(async (tx) => {
    const row = await findBudget(tx, params.bid);
    if (row === undefined) throw new ApiError('not_found');
    return renderBudgetStatus(await settleBudget(tx, row));
  });
}
