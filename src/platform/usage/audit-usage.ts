/** Compares what was summed as it was used with the rows that it sums. */
import type { Executor } from '../../kernel/db/database.ts';
import { BUDGETED_SOURCES, periodKeySql } from '../budgets/index.ts';
import { USAGE_AMOUNTS } from '../tables.ts';

export interface UsageDifference {
  readonly project_id: string;
  /** `usage_daily` or `budget_periods`. */
  readonly sums: string;
  /** Which row it is, with both its sums. */
  readonly row: Record<string, unknown>;
}

const AMOUNTS = USAGE_AMOUNTS.join(', ');
const KEY = 'project_id, day, source, model, meter, smith_id, agent_id, customer_id, app_id';
const SUMS = USAGE_AMOUNTS.map((name) => `sum(${name}) as ${name}`).join(', ');

/**
 * Every difference between a day's usage and the sum of its rows, over all projects, in both directions; and between a
 * period of a budget and the usage of its days, which may differ where turns were under way as the budget was created. `since`: days
 * before it have rows no more.
 */
export async function auditUsage(db: Executor, { since = '-infinity' } = {}): Promise<UsageDifference[]> {
  const { rows } = await db.query<UsageDifference>({
    text: `
      with used as (
        select ${KEY}, ${AMOUNTS} from usage_entries
        union all
        select s.project_id, s.usage_day, 'turn', s.name, '', r.smith_id, coalesce(r.agent_id, ''),
          coalesce(s.customer_id, ''), coalesce(r.app_id, ''), 1, case when s.cost_micros is null then 1 else 0 end, s.input_tokens,
          s.cached_input_tokens, s.output_tokens, s.reasoning_tokens, coalesce(s.cost_micros, 0), 0, 0
        from run_steps s join runs r on r.project_id = s.project_id and r.id = s.run_id
        where s.usage_day is not null
      ), summed as (
        select ${KEY}, ${SUMS} from used group by ${KEY}
      ), days as (
        select coalesce(d.project_id, s.project_id) as project_id, 'usage_daily' as sums,
          jsonb_build_object('stored', to_jsonb(d), 'rows', to_jsonb(s)) as row
        from usage_daily d full join summed s using (${KEY})
        where coalesce(d.day, s.day) >= $2::date and (${AMOUNTS.replaceAll(/(\w+)/g, 'd.$1')}) is distinct from (${AMOUNTS.replaceAll(/(\w+)/g, 's.$1')})
      ), steps as (
        select project_id, 'usage_daily' as sums, jsonb_build_object('uncounted step', to_jsonb(s)) as row
        from run_steps s where usage_day is null and (kind = 'model' or input_tokens + output_tokens > 0)
      ), periods as (
        select p.project_id, 'budget_periods' as sums,
          jsonb_build_object('stored', p.spent_micros, 'rows', u.spent, 'budget', b.id, 'period', p.period_key) as row
        from budget_periods p join budgets b on b.project_id = p.project_id and b.id = p.budget_id
        cross join lateral (
          select coalesce(sum(d.cost_micros), 0) as spent from usage_daily d
          where d.project_id = b.project_id and d.source = any($1)
            and ${periodKeySql('b.period', 'd.day')} = p.period_key
            and case b.scope when 'tenant' then true when 'agent' then d.agent_id = b.scope_id
                  when 'smith' then d.smith_id = b.scope_id else d.customer_id = b.scope_id end
        ) u
        where p.spent_micros <> u.spent
      )
      select * from days union all select * from steps union all select * from periods`,
    values: [[...BUDGETED_SOURCES], since],
  });
  return rows;
}
