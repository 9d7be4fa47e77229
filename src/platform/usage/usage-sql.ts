/**
 * How usage is recorded inside the statement that stores what it sums, so that the sums of a day always equal their rows:
 *
 *   rows (run_steps, usage_entries) ──▶ usage_daily ──▶ budget_periods, with what was reserved given back
 *
 * Each CTE reads the one before it, so that every statement takes its locks in this order.
 */
import { spendBudgetsSql } from '../budgets/index.ts';

const KEY = ['day', 'source', 'model', 'meter', 'smith_id', 'agent_id', 'customer_id', 'app_id'];

const AMOUNTS = [
  'calls',
  'unpriced_calls',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_micros',
  'quantity',
  'seconds',
];

const EXACT = new Set(['quantity', 'seconds']);

/**
 * CTEs that come after `rows`, a relation of what was used with every column of usage_daily but the project. Every argument
 * is SQL; a null `holder` holds no reservation. `BUDGET_CROSSED_SQL` can be asked behind them.
 */
export function recordUsageSql(names: {
  readonly project: string;
  readonly rows: string;
  readonly holder: string;
}): string {
  const { project, rows, holder } = names;
  const sums = AMOUNTS.map((name) => `sum(${name})::${EXACT.has(name) ? 'numeric' : 'bigint'} as ${name}`);
  return `
    usage_rows as (
      select ${KEY.join(', ')}, ${sums.join(', ')} from ${rows} group by ${KEY.join(', ')}
    ), usage_added as (
      insert into usage_daily as d (project_id, ${KEY.join(', ')}, ${AMOUNTS.join(', ')})
      select ${project}, ${KEY.join(', ')}, ${AMOUNTS.join(', ')} from usage_rows order by ${KEY.join(', ')}
      on conflict (project_id, ${KEY.join(', ')}) do update
        set ${AMOUNTS.map((name) => `${name} = d.${name} + excluded.${name}`).join(', ')}
      returning 1
    ), ${spendBudgetsSql({ project, rows: 'usage_rows', added: 'usage_added', released: `holder = ${holder}` })}`;
  // Whatever else is paid for by use goes here: its cost is in usage_rows (source, cost_micros), and its locks come last.
}
