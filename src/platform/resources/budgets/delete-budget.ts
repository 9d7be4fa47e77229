import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { removeBudget } from '../../budgets/index.ts';
import type { BudgetPath } from './schema.ts';

export async function deleteBudget({ tx, params }: ProjectChange<{ params: BudgetPath }>): Promise<void> {
  if (!(await removeBudget(tx, params.bid))) throw new ApiError('not_found');
}
