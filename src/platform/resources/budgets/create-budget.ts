import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { requireReferences } from '../../access/references.ts';
import { type BudgetRow, findBudget, insertBudget, settleBudget } from '../../budgets/index.ts';
import { readLimit, renderBudget } from './render-budget.ts';
import type { Budget, BudgetIn } from './schema.ts';

export async function createBudget({ tx, caller, body }: ProjectChange<{ body: BudgetIn }>): Promise<Budget> {
  const { scope, period = 'monthly', action = 'warn' } = body;
  const id = mintId('bgt');
  const budget: Omit<BudgetRow, 'created_at'> = {
    id,
    scope,
    scope_id: readScopeId(body),
    period,
    limit_micros: readLimit(body.limit),
    action,
  };
  if (scope !== 'tenant') {
    await requireReferences(tx, caller, scope, [budget.scope_id], () => {
      return new ApiError('not_found', {
        param: 'scope_id',
        message: `The project has no ${scope} ${budget.scope_id}.`,
      });
    });
  }
  if (!(await insertBudget(tx, budget))) throw new ApiError('budget_exists', { param: 'scope' });
  const row = await findBudget(tx, id);
  if (row === undefined) throw new Error('a budget that was inserted is gone');
  // Counts what its period has used before.
  await settleBudget(tx, row);
  return renderBudget(row);
}

/** '' for the tenant. */
function readScopeId({ scope, scope_id: scopeId = null }: BudgetIn): string {
  if (scope === 'tenant') {
    if (scopeId === null) return '';
    throw new ApiError('invalid_request', {
      param: 'scope_id',
      message: 'A budget of the tenant takes no `scope_id`.',
    });
  }
  if (scopeId === null || scopeId === '') throw new ApiError('scope_id_required', { param: 'scope_id' });
  return scopeId;
}
