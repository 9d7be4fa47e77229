/** Usage other than that of a turn's own model calls, which the statement that advances the turn records. */
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { createDrawStatements, type DrawTerms } from '../billing/index.ts';
import { BUDGET_CROSSED_SQL, BUDGETS_CHANNEL } from '../budgets/index.ts';
import { executorOf } from '../store/executor-of.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { UsageSource } from '../tables.ts';
import { USAGE_AMOUNTS } from '../tables.ts';
import { recordUsageSql } from './usage-sql.ts';

export interface UsageEntry {
  /** Default: a new one. An entry whose id the project has already changes nothing, so that it can be sent again. */
  readonly id?: string;
  readonly source: Exclude<UsageSource, 'turn'>;
  /** `provider/model` in full. */
  readonly model?: string;
  readonly meter?: string;
  readonly smithId?: string | null;
  /** Default: the smith's. */
  readonly agentId?: string | null;
  /** Default: the smith's. */
  readonly customerId?: string | null;
  /** Default: the app that holds the token. */
  readonly appId?: string | null;
  /** The token that it was used with, where somebody called. */
  readonly tokenId?: string | null;
  /** When it was used; its day in UTC is the one that it counts in. Default: now, by the store's clock. */
  readonly at?: Date;
  /** Calls of models. */
  readonly calls?: number;
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
  readonly outputTokens?: number;
  readonly reasoningTokens?: number;
  /** Millionths of a US dollar; null: the model has no known price. */
  readonly costMicros?: number | null;
  /** Of a meter. */
  readonly quantity?: number;
  /** Of a sandbox. */
  readonly seconds?: number;
}

export interface RecordingOptions {
  /** Who had reserved for them (`budgets/reserve.ts`): the reservation is given back. */
  readonly holder?: string | null;
  /** What they cost is drawn from the wallet. */
  readonly terms?: DrawTerms | undefined;
  /** Commit without a wait for the disk, on a server store: for what costs nothing and should hold nobody up. */
  readonly asyncCommit?: boolean;
}

/**
 * Stores the entries and adds them to the usage of their days and to the budgets that apply, in one statement. Returns the
 * ids of the entries that are new.
 */
export async function recordUsage(
  executor: Executor,
  projectId: string,
  entries: readonly UsageEntry[],
  { holder = null, terms, asyncCommit = false }: RecordingOptions = {},
): Promise<string[]> {
  const { rows } = await executor.query<{ ids: string[]; crossed: boolean }>({
    ...statementOf(terms),
    values: [
      projectId,
      json(entries.map(describe)),
      holder,
      asyncCommit,
      ...(terms === undefined ? [] : [mintId('wtx')]),
    ],
  });
  const { ids = [], crossed = false } = rows[0] ?? {};
  if (crossed) executor.wake(BUDGETS_CHANNEL);
  return ids;
}

/** The same through a project's handle. */
export function recordTenantUsage(db: TenantDb, entries: readonly UsageEntry[]): Promise<string[]> {
  return recordUsage(executorOf(db), db.projectId, entries);
}

function describe(entry: UsageEntry) {
  const calls = entry.calls ?? 0;
  return {
    id: entry.id ?? mintId('use'),
    source: entry.source,
    model: entry.model ?? '',
    meter: entry.meter ?? '',
    smith_id: entry.smithId ?? '',
    agent_id: entry.agentId ?? null,
    customer_id: entry.customerId ?? null,
    app_id: entry.appId ?? null,
    token_id: entry.tokenId ?? null,
    at: entry.at?.toISOString() ?? null,
    calls,
    unpriced_calls: entry.costMicros === null ? calls : 0,
    input_tokens: entry.inputTokens ?? 0,
    cached_input_tokens: entry.cachedInputTokens ?? 0,
    output_tokens: entry.outputTokens ?? 0,
    reasoning_tokens: entry.reasoningTokens ?? 0,
    cost_micros: entry.costMicros ?? 0,
    quantity: entry.quantity ?? 0,
    seconds: entry.seconds ?? 0,
  };
}

const AMOUNTS = USAGE_AMOUNTS.join(', ');

const statementOf = createDrawStatements((terms) => ({
  text: `
    with entry as (
      insert into usage_entries (project_id, id, source, model, meter, smith_id, agent_id, customer_id, app_id, at, day, ${AMOUNTS})
      select $1, e.id, e.source, e.model, e.meter, e.smith_id, coalesce(e.agent_id, s.agent_id, ''),
        coalesce(e.customer_id, s.customer_id, ''), coalesce(e.app_id, t.app_id, ''), coalesce(e.at, now()),
        (coalesce(e.at, now()) at time zone 'utc')::date, ${AMOUNTS}
      from jsonb_to_recordset($2::jsonb) as e (id text, source text, model text, meter text, smith_id text, agent_id text,
        customer_id text, app_id text, token_id text, at timestamptz, calls bigint, unpriced_calls bigint, input_tokens bigint,
        cached_input_tokens bigint, output_tokens bigint, reasoning_tokens bigint, cost_micros bigint, quantity numeric,
        seconds numeric)
      left join smiths s on s.project_id = $1 and s.id = e.smith_id
      left join tokens t on t.project_id = $1 and t.id = e.token_id
      on conflict (project_id, id) do nothing
      returning *
    ), ${recordUsageSql({ project: '$1', rows: 'entry', holder: '$3::text', draw: terms && { terms, id: '$5' } })}
    select coalesce(array_agg(id), '{}') as ids, ${BUDGET_CROSSED_SQL} as crossed,
      case when $4::boolean then set_config('synchronous_commit', 'off', true) end
    from entry`,
}));
