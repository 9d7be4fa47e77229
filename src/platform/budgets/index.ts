/** What usage may cost: budgets, their periods, and what is reserved of them. */
export { periodKeySql, TODAY_SQL } from './period.ts';
export { BUDGET_CROSSED_SQL, BUDGETED_SOURCES, BUDGETS_CHANNEL, spendBudgetsSql } from './spending-sql.ts';
