/**
 * How usage is recorded inside the statement that stores what it sums, so that the sums of a day always equal their rows:
 *
 *   rows (run_steps, usage_entries) ──▶ usage_daily ──▶ budget_periods, with what was reserved given back
 *                                                  └──▶ wallets, with credits
 *
 * Each CTE reads the one before it, so that every statement takes its locks in this order.
 */
import { type DrawTerms, drawSql } from '../billing/index.ts';
import { BUDGETED_SOURCES, spendBudgetsSql } from '../budgets/index.ts';
import { USAGE_AMOUNTS } from '../tables.ts';

const KEY = ['day', 'source', 'model', 'meter', 'smith_id', 'agent_id', 'customer_id', 'app_id'];

const EXACT = new Set<string>(['quantity', 'seconds']);

/**
 * CTEs that come after `rows`, a relation of what was used with every column of usage_daily but the project. Every argument
 * is SQL; a null `holder` holds no reservation, and `any (…)` names several. `BUDGET_CROSSED_SQL` can be asked behind them.
 */
export function recordUsageSql(names: {
  readonly project: string;
  readonly rows: string;
  readonly holder: string;
  /** With credits: what it costs the wallet, and an id `wtx_…` for the transaction that draws it. */
  readonly draw?: { readonly terms: DrawTerms; readonly id: string } | undefined;
}): string {
  const { project, rows, holder, draw } = names;
  const sums = USAGE_AMOUNTS.map((name) => {
    const type = EXACT.has(name) ? 'numeric' : 'bigint';
    return `sum(${name})::${type} as ${name}`;
  });
  return `
    usage_rows as (
      select ${KEY.join(', ')}, ${sums.join(', ')} from ${rows} group by ${KEY.join(', ')}
    ), usage_added as (
      insert into usage_daily as d (project_id, ${KEY.join(', ')}, ${USAGE_AMOUNTS.join(', ')})
      select ${project}, ${KEY.join(', ')}, ${USAGE_AMOUNTS.join(', ')} from usage_rows order by ${KEY.join(', ')}
      on conflict (project_id, ${KEY.join(', ')}) do update
        set ${USAGE_AMOUNTS.map((name) => `${name} = d.${name} + excluded.${name}`).join(', ')}
      returning 1
    ), ${spendBudgetsSql({ project, rows: 'usage_rows', added: 'usage_added', released: `holder = ${holder}` })}${draw === undefined ? '' : `, ${drawUsageSql(project, draw)}`}`;
}

const PAID = BUDGETED_SOURCES.map((source) => `'${source}'`).join(', ');

/** The wallet's row is locked last: all of an organization's settlements meet there. */
function drawUsageSql(project: string, { terms, id }: { readonly terms: DrawTerms; readonly id: string }): string {
  const source = `
    select ${project}::text as project_id, sum(cost_micros) as cost_micros from usage_rows
    where source in (${PAID}) and (select count(*) from budget_added) >= 0 and (select count(*) from usage_added) >= 0`;
  return drawSql(terms, { source, id });
}
