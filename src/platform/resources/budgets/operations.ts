import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { project } from '../../access/operation.ts';
import { createBudget } from './create-budget.ts';
import { deleteBudget } from './delete-budget.ts';
import { getBudget, getBudgetStatus } from './get-budget.ts';
import { listBudgets } from './list-budgets.ts';
import { Budget, BudgetIn, BudgetPatch, BudgetPath, BudgetStatus } from './schema.ts';
import { updateBudget } from './update-budget.ts';

export function budgetOperations() {
  return [
    project.change({
      id: 'budgets.create',
      method: 'POST',
      path: '/v1/budgets',
      posture: 'tenant',
      scope: 'usage:write',
      summary: 'Create a budget',
      description:
        'It counts what its period has used already. At 80 % and 100 % a `budget.threshold` event tells of it, each once a ' +
        'period; what passes both at once tells of both. With `block`, once it is spent every call of a model is refused ' +
        'with `budget_exceeded`, on every surface. Before, each call reserves what it may cost at most, so that calls ' +
        'side by side pass the limit by no more than one of them; what is reserved is waited for up to 30 seconds.',
      status: 201,
      body: BudgetIn,
      example: { scope: 'tenant', period: 'monthly', limit: 250, action: 'block' },
      reply: Budget,
      errors: ['budget_exists', 'scope_id_required', 'invalid_action', 'invalid_period', 'invalid_limit', 'not_found'],
      handler: createBudget,
    }),
    project.read({
      id: 'budgets.list',
      method: 'GET',
      path: '/v1/budgets',
      posture: 'tenant',
      scope: 'usage:read',
      summary: 'List budgets, newest first',
      query: Type.Object(pageQuery),
      reply: pageOf(Budget),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listBudgets,
    }),
    project.read({
      id: 'budgets.get',
      method: 'GET',
      path: '/v1/budgets/{bid}',
      posture: 'tenant',
      scope: 'usage:read',
      summary: 'Get a budget',
      params: BudgetPath,
      reply: Budget,
      handler: getBudget,
    }),
    project.change({
      id: 'budgets.update',
      method: 'PATCH',
      path: '/v1/budgets/{bid}',
      posture: 'tenant',
      scope: 'usage:write',
      summary: 'Change a budget’s limit or action',
      description: 'At once, in the present period too. A threshold that was told of in it is not told of again.',
      params: BudgetPath,
      body: BudgetPatch,
      example: { limit: 500 },
      reply: Budget,
      errors: ['nothing_to_update', 'invalid_limit', 'invalid_action'],
      handler: updateBudget,
    }),
    project.change({
      id: 'budgets.delete',
      method: 'DELETE',
      path: '/v1/budgets/{bid}',
      posture: 'tenant',
      scope: 'usage:write',
      summary: 'Delete a budget',
      params: BudgetPath,
      handler: deleteBudget,
    }),
    project.read({
      id: 'budgets.status',
      method: 'GET',
      path: '/v1/budgets/{bid}/status',
      posture: 'tenant',
      scope: 'usage:read',
      summary: 'Get how a budget stands in its present period',
      params: BudgetPath,
      reply: BudgetStatus,
      handler: getBudgetStatus,
    }),
  ];
}
