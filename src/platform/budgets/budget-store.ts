/** Rows of budgets. Every query is already scoped to one project by the handle that it is given. */

import { type Selectable, sql } from 'kysely';
import { systemClock } from '../../kernel/clock/clock.ts';
import { pageById } from '../../kernel/db/kysely.ts';
import type { PageRequest } from '../../kernel/http/paging.ts';
import { executorOf } from '../store/executor-of.ts';
import type { TenantDb, TenantTransaction } from '../store/tenant-db.ts';
import type { TenantTables } from '../tables.ts';
import { findPeriod, periodKeySql, TODAY_SQL } from './period.ts';
import { settlePeriod } from './settle-period.ts';

const COLUMNS = ['id', 'scope', 'scope_id', 'period', 'limit_micros', 'action', 'created_at'] as const;

export type BudgetRow = Pick<Selectable<TenantTables['budgets']>, (typeof COLUMNS)[number]>;

export interface BudgetStatus extends BudgetRow {
  readonly period_key: string;
  /** The epoch where the period is `total`. */
  readonly period_start: Date;
  readonly spent_micros: number;
}

/** False when the scope has a budget for this period already. */
export async function insertBudget(db: TenantDb, budget: Omit<BudgetRow, 'created_at'>): Promise<boolean> {
  const result = await db
    .insertInto('budgets')
    .values(budget)
    .onConflict((conflict) => conflict.columns(['project_id', 'scope', 'scope_id', 'period']).doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function findBudget(db: TenantDb, id: string): Promise<BudgetRow | undefined> {
  return db.selectFrom('budgets').select(COLUMNS).where('id', '=', id).executeTakeFirst();
}

/** Up to one row more than the page holds. */
export async function listBudgets(db: TenantDb, page: PageRequest): Promise<BudgetRow[]> {
  return pageById(db.selectFrom('budgets').select(COLUMNS), 'budgets.id', page).execute();
}

/** The budgets of one scope, of which there is one a period, as they stand in their period of now. Nothing is counted anew. */
export async function listBudgetsOf(db: TenantDb, scope: BudgetRow['scope'], scopeId: string): Promise<BudgetStatus[]> {
  const { rows } = await db.raw<BudgetRow & { period_key: string; spent_micros: number }>({
    text: `
      select b.id, b.scope, b.scope_id, b.period, b.limit_micros, b.action, b.created_at, k.key as period_key,
        coalesce(p.spent_micros, 0) as spent_micros
      from budgets b
      cross join lateral (select ${periodKeySql('b.period', TODAY_SQL)} as key) k
      left join budget_periods p on p.project_id = b.project_id and p.budget_id = b.id and p.period_key = k.key
      where b.project_id = $1 and b.scope = $2 and b.scope_id = $3 order by b.id desc`,
    values: [scope, scopeId],
  });
  return rows.map((row) => ({ ...row, period_start: startOf(row, systemClock.now()) }));
}

/** Undefined members stay as they are. Undefined when there is no such budget. */
export async function updateBudget(
  db: TenantDb,
  id: string,
  change: { readonly limit_micros?: number; readonly action?: BudgetRow['action'] },
): Promise<BudgetRow | undefined> {
  if (Object.keys(change).length === 0) return findBudget(db, id);
  return db.updateTable('budgets').set(change).where('id', '=', id).returning(COLUMNS).executeTakeFirst();
}

/** With its periods and what is reserved of them. False when there is no such budget. */
export async function removeBudget(tx: TenantTransaction, id: string): Promise<boolean> {
  const result = await tx.deleteFrom('budgets').where('id', '=', id).executeTakeFirst();
  // In the order in which a call that settles takes them, which would otherwise wait for this and this for it.
  await tx.deleteFrom('budget_reservations').where(sql<boolean>`budget_id = ${id}`).execute();
  await tx.deleteFrom('budget_periods').where('budget_id', '=', id).execute();
  return result.numDeletedRows > 0n;
}

/** How the budget stands in its period of now, counted anew. */
export async function settleBudget(tx: TenantTransaction, budget: BudgetRow): Promise<BudgetStatus> {
  const at = systemClock.now();
  const settled = await settlePeriod(executorOf(tx), { ...budget, project_id: tx.projectId }, at);
  return { ...budget, ...settled, period_start: startOf(budget, at) };
}

function startOf({ period }: BudgetRow, at: Date): Date {
  return findPeriod(period, at).start ?? new Date(0);
}
