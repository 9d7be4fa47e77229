/** What usage may cost: budgets, their periods, and what is reserved of them. */
export { type BlockingBudget, blockingBudgetsSql, throwIfSpent } from './blocking-budgets.ts';
export {
  type BudgetRow,
  type BudgetStatus,
  findBudget,
  insertBudget,
  listBudgets,
  listBudgetsOf,
  removeBudget,
  settleBudget,
  updateBudget,
} from './budget-store.ts';
export { dayOf, periodKeySql, TODAY_SQL } from './period.ts';
export {
  DEFAULT_ANSWER_TOKENS,
  guardBudgets,
  priceWorstCase,
  releaseBudgets,
  reserveBudgets,
  reserveNamedSql,
} from './reserve.ts';
export { BUDGET_CROSSED_SQL, BUDGETED_SOURCES, BUDGETS_CHANNEL, spendBudgetsSql } from './spending-sql.ts';
export { createBudgetWatch, defineBudgetJobs } from './watch-budgets.ts';
