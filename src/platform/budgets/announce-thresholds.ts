/** Tells of thresholds that budgets have crossed: each tier once a period, with the mark that it was told. */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { appendEvent } from '../feed/append-event.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import type { BudgetScope } from '../tables.ts';

const BATCH = 100;
const TIERS = [80, 100];
const MICROS_PER_DOLLAR = 1_000_000;

interface DuePeriod {
  project_id: string;
  budget_id: string;
  period_key: string;
  announced: number;
  due_tier: number;
  spent_micros: number;
  /** Null: the budget was deleted while a turn was settled. */
  scope: BudgetScope | null;
  scope_id: string | null;
}

/** One batch, in a transaction. True where there may be more. A budget that went past both tiers at once tells of both. */
export function announceThresholds(db: Database): Promise<boolean> {
  return db.transaction(async (tx) => {
    const due = await holdDuePeriods(tx);
    for (const period of due) await announce(tx, period);
    return due.length === BATCH;
  });
}

async function holdDuePeriods(tx: Transaction): Promise<DuePeriod[]> {
  const { rows } = await tx.query<DuePeriod>({
    text: `
      select p.project_id, p.budget_id, p.period_key, p.announced, p.due_tier, p.spent_micros, b.scope, b.scope_id
      from budget_periods p left join budgets b on b.project_id = p.project_id and b.id = p.budget_id
      where p.due_tier > p.announced
      order by p.project_id, p.budget_id, p.period_key
      limit ${BATCH} for update of p`,
    values: [],
  });
  return rows;
}

async function announce(tx: Transaction, period: DuePeriod): Promise<void> {
  const row = [period.project_id, period.budget_id, period.period_key];
  if (period.scope === null) {
    await tx.query({
      text: 'delete from budget_periods where project_id = $1 and budget_id = $2 and period_key = $3',
      values: row,
    });
    return;
  }
  for (const tier of TIERS.filter((each) => each > period.announced && each <= period.due_tier)) {
    await appendEvent(new TenantTransaction(tx, period.project_id), {
      type: 'budget.threshold',
      smithId: period.scope === 'smith' ? period.scope_id : null,
      actor: null,
      data: { budget_id: period.budget_id, tier, spent: period.spent_micros / MICROS_PER_DOLLAR },
    });
  }
  await tx.query({
    text: 'update budget_periods set announced = $4 where project_id = $1 and budget_id = $2 and period_key = $3',
    values: [...row, period.due_tier],
  });
}
