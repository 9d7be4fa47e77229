/** What other resources may ask of budgets. */
export { renderBudgetStatus } from './render-budget.ts';
export { BudgetStatus } from './schema.ts';
