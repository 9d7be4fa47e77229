/** Usage, row by row and by day, and the budgets that limit what it costs. */
import type { Generated } from 'kysely';
import type { ProjectId, TableNames } from './columns.ts';

export type UsageSource = 'turn' | 'embedding' | 'sandbox' | 'meter' | 'external';

/** What usage is told apart by: '' where there is none. */
interface UsageKey {
  model: Generated<string>;
  meter: Generated<string>;
  smith_id: Generated<string>;
  agent_id: Generated<string>;
  customer_id: Generated<string>;
  app_id: Generated<string>;
}

interface UsageAmounts {
  calls: Generated<number>;
  /** Calls of models without a known price. */
  unpriced_calls: Generated<number>;
  input_tokens: Generated<number>;
  cached_input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  reasoning_tokens: Generated<number>;
  /** Millionths of a US dollar. */
  cost_micros: Generated<number>;
  quantity: Generated<string>;
  seconds: Generated<string>;
}

interface UsageEntriesTable extends UsageKey, UsageAmounts {
  project_id: ProjectId;
  id: string;
  source: Exclude<UsageSource, 'turn'>;
  at: Date;
  /** `YYYY-MM-DD` */
  day: string;
  created_at: Generated<Date>;
}

interface UsageDailyTable extends UsageKey, UsageAmounts {
  project_id: ProjectId;
  /** `YYYY-MM-DD` */
  day: string;
  source: UsageSource;
}

export type BudgetScope = 'tenant' | 'agent' | 'smith' | 'customer';
export type BudgetPeriod = 'daily' | 'weekly' | 'monthly' | 'total';
export type BudgetAction = 'warn' | 'block';

interface BudgetsTable {
  project_id: ProjectId;
  id: string;
  scope: BudgetScope;
  /** '' for the tenant. */
  scope_id: string;
  period: BudgetPeriod;
  limit_micros: number;
  action: BudgetAction;
  created_at: Generated<Date>;
}

interface BudgetPeriodsTable {
  project_id: ProjectId;
  budget_id: string;
  period_key: string;
  spent_micros: Generated<number>;
  reserved_micros: Generated<number>;
  limit_micros: number;
  announced: Generated<number>;
  due_tier: Generated<number>;
}

interface BudgetReservationsTable {
  project_id: ProjectId;
  holder: string;
  budget_id: string;
  period_key: string;
  amount_micros: number;
  expires_at: Date;
}

/** What is summed, as usage_entries and usage_daily name it. */
export const USAGE_AMOUNTS = [
  'calls',
  'unpriced_calls',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_micros',
  'quantity',
  'seconds',
] as const;

export interface UsageTables {
  usage_entries: UsageEntriesTable;
  usage_daily: UsageDailyTable;
  budgets: BudgetsTable;
  budget_periods: BudgetPeriodsTable;
  budget_reservations: BudgetReservationsTable;
}

export const usageTables: TableNames<UsageTables> = {
  usage_entries: true,
  usage_daily: true,
  budgets: true,
  budget_periods: true,
  budget_reservations: true,
};
