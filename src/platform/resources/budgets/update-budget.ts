import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { settleBudget, updateBudget as updateRow } from '../../budgets/index.ts';
import { readLimit, renderBudget } from './render-budget.ts';
import type { Budget, BudgetPatch, BudgetPath } from './schema.ts';

export async function updateBudget({
  tx,
  params,
  body,
}: ProjectChange<{ params: BudgetPath; body: BudgetPatch }>): Promise<Budget> {
  if (Object.keys(body).length === 0) throw new ApiError('nothing_to_update');
  const row = await updateRow(tx, params.bid, {
    // A budget has both: null leaves them as they are.
    ...(body.limit == null ? {} : { limit_micros: readLimit(body.limit) }),
    ...(body.action == null ? {} : { action: body.action }),
  });
  if (row === undefined) throw new ApiError('not_found');
  // The new limit is the present period's too.
  await settleBudget(tx, row);
  return renderBudget(row);
}
