/**
 * One step of a turn into the store, in one statement: what the step did and cost, what the next turn will read, the
 * timeline and the feed, and the turn's new state. Fenced by the lease. Everything that changes a turn after its start
 * goes through here, so a step is wholly there or not at all and is paid for once.
 */
import type { Executor } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { createDrawStatements, type DrawTerms } from '../../billing/index.ts';
import { BUDGET_CROSSED_SQL, BUDGETS_CHANNEL, TODAY_SQL } from '../../budgets/index.ts';
import { appendEventsSql } from '../../feed/append-event-sql.ts';
import { FEED_CHANNEL } from '../../feed/follow-feed.ts';
import type { Actor, JsonObject } from '../../tables.ts';
import { insertMessagesSql, summarizeSql } from '../../threads/index.ts';
import { recordUsageSql } from '../../usage/index.ts';
import {
  LeaseLostError,
  type RunFailure,
  type RunStatus,
  type StepStatus,
  type StoredMessage,
  type TurnKey,
  type Warning,
} from '../turn.ts';
import type { RunRow } from './run-row.ts';

export interface StepRecord {
  readonly position: number;
  readonly kind: 'model' | 'tool' | 'compaction' | 'mcp_list';
  readonly status: StepStatus;
  readonly name: string;
  readonly call_id?: string | null;
  readonly input?: JsonObject | null;
  readonly output?: JsonObject | null;
  readonly error?: string | null;
  readonly target?: JsonObject | null;
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly output_tokens?: number;
  readonly reasoning_tokens?: number;
  readonly cost_micros?: number | null;
  readonly started_at?: string;
  readonly finished_at?: string | null;
}

export interface StoredFrame {
  readonly seq: number;
  readonly type: string;
  readonly data: JsonObject;
  readonly created_at: string;
}

export interface ApprovalRequest {
  readonly id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** A question, in place of a decision. */
  readonly elicitation?: { readonly message: string; readonly requested_schema: JsonObject };
  readonly question_state?: JsonObject;
  /** ISO-8601. */
  readonly expires_at?: string | null;
  readonly holder?: string | null;
  /** Closes an approval that is there. */
  readonly status?: 'expired';
}

export interface FeedRecord {
  readonly type: string;
  readonly data: JsonObject;
}

/** What a step changes. Left out means unchanged. */
export interface TurnAdvance {
  readonly status: RunStatus;
  /** One at the most is a call of a model. */
  readonly steps?: readonly StepRecord[];
  readonly messages?: readonly Omit<StoredMessage, 'turn'>[];
  readonly frames?: readonly StoredFrame[];
  readonly feed?: readonly FeedRecord[];
  readonly approvals?: readonly ApprovalRequest[];
  readonly output?: JsonObject | null;
  readonly stopReason?: string | null;
  readonly error?: RunFailure | null;
  /** Added to the turn's warnings. */
  readonly warnings?: readonly Warning[];
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
  readonly outputTokens?: number;
  readonly reasoningTokens?: number;
  /** Undefined: no price is known. */
  readonly costMicros?: number | null;
  /** What the turn has reserved of budgets is given back: the step was paid for, or is not to be made. */
  readonly releasesBudgets?: boolean;
  /** The thread's new summary and the last turn that it covers. */
  readonly summary?: { readonly text: string; readonly turn: number };
}

/**
 * Commits the step; with `terms`, what it cost is drawn from the wallet. Returns the run as it is now; throws
 * LeaseLostError when the turn is no longer this replica's.
 */
export async function advanceTurn(
  db: Executor,
  key: TurnKey,
  replicaId: string,
  actor: Actor | null,
  advance: TurnAdvance,
  terms?: DrawTerms,
): Promise<RunRow> {
  const feed = (advance.feed ?? []).map((event) => ({ ...event, id: mintId('evt') }));
  const { rows } = await db.query<RunRow & { budget_crossed: boolean }>({
    ...statementOf(terms),
    values: [
      key.projectId,
      key.runId,
      replicaId,
      key.attempt,
      advance.status,
      advance.output === undefined || advance.output === null ? null : json(advance.output),
      advance.stopReason ?? null,
      advance.error === undefined || advance.error === null ? null : json(advance.error),
      json(advance.warnings ?? []),
      advance.inputTokens ?? 0,
      advance.outputTokens ?? 0,
      advance.costMicros ?? null,
      json(advance.steps ?? []),
      json(advance.messages ?? []),
      json(advance.frames ?? []),
      json(feed),
      json(advance.approvals ?? []),
      actor === null ? null : json(actor),
      advance.summary?.text ?? null,
      advance.summary?.turn ?? null,
      advance.cachedInputTokens ?? 0,
      advance.reasoningTokens ?? 0,
      advance.releasesBudgets === true,
      ...(terms === undefined ? [] : [mintId('wtx')]),
    ],
  });
  const found = rows[0];
  if (found === undefined) throw new LeaseLostError(key.runId);
  const { budget_crossed: hasCrossed, ...row } = found;
  if (feed.length > 0) db.wake(FEED_CHANNEL);
  if (hasCrossed) db.wake(BUDGETS_CHANNEL);
  return row;
}

const statementOf = createDrawStatements((terms) => ({
  text: `
    with run as (
      update runs set
        status = $5,
        output = coalesce($6::jsonb, output),
        stop_reason = coalesce($7, stop_reason),
        error = coalesce($8::jsonb, error),
        warnings = warnings || $9::jsonb,
        input_tokens = input_tokens + $10,
        output_tokens = output_tokens + $11,
        cached_input_tokens = cached_input_tokens + $21,
        reasoning_tokens = reasoning_tokens + $22,
        cost_micros = case when $12::bigint is null then cost_micros else coalesce(cost_micros, 0) + $12 end,
        sealed_mcp_credentials = case when $5 in ('in_progress', 'paused') then sealed_mcp_credentials end,
        updated_at = now()
      where project_id = $1 and id = $2 and replica_id = $3 and attempt = $4 and status = 'in_progress'
      returning *
    ), step as (
      insert into run_steps (project_id, run_id, position, kind, status, name, call_id, input, output, error, target,
                             input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, cost_micros,
                             usage_day, customer_id, started_at, finished_at)
      select $1, $2, s.position, s.kind, s.status, s.name, s.call_id, s.input, s.output, s.error, s.target,
             coalesce(s.input_tokens, 0), coalesce(s.cached_input_tokens, 0), coalesce(s.output_tokens, 0),
             coalesce(s.reasoning_tokens, 0), s.cost_micros,
             case when s.kind = 'model' or s.input_tokens + s.output_tokens > 0 then ${TODAY_SQL} end,
             smith.customer_id, coalesce(s.started_at, now()), s.finished_at
      from run
      join smiths smith on smith.project_id = $1 and smith.id = run.smith_id
      cross join jsonb_to_recordset($13::jsonb) as s (
        position int, kind text, status text, name text, call_id text, input jsonb, output jsonb, error text, target jsonb,
        input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
        cost_micros bigint, started_at timestamptz, finished_at timestamptz)
      on conflict (project_id, run_id, position) do update
        set status = excluded.status, output = excluded.output, error = excluded.error, finished_at = excluded.finished_at
      returning *
    ), used as (
      select step.usage_day as day, 'turn' as source, step.name as model, '' as meter, run.smith_id,
        coalesce(run.agent_id, '') as agent_id, coalesce(step.customer_id, '') as customer_id,
        coalesce(run.app_id, '') as app_id,
        1 as calls, case when step.cost_micros is null then 1 else 0 end as unpriced_calls,
        step.input_tokens, step.cached_input_tokens, step.output_tokens, step.reasoning_tokens,
        coalesce(step.cost_micros, 0) as cost_micros, 0 as quantity, 0 as seconds
      from run, step where step.usage_day is not null
    ), ${recordUsageSql({ project: '$1', rows: 'used', holder: '(select id from run where $23::boolean)', isSingle: true, draw: terms && { terms, id: '$24' } })},
    said as (
      ${insertMessagesSql({ run: 'run', messages: '$14::jsonb' })}
    ), frames as (
      insert into run_events (project_id, run_id, seq, type, data, created_at)
      select $1, $2, f.seq, f.type, f.data, f.created_at
      from run, jsonb_to_recordset($15::jsonb) as f (seq bigint, type text, data jsonb, created_at timestamptz)
      on conflict (project_id, run_id, seq) do nothing
    ), feed as (${appendEventsSql({ source: 'run', project: '$1', actor: '$18::jsonb', events: '$16::jsonb' })}
    ), asked as (
      insert into approvals (project_id, id, run_id, smith_id, tool_call_id, tool, args,
                             elicitation, question_state, expires_at, holder)
      select $1, a.id, $2, run.smith_id, a.tool_call_id, a.tool, a.args,
             a.elicitation, a.question_state, a.expires_at, a.holder
      from run, jsonb_to_recordset($17::jsonb) as a (
        id text, tool_call_id text, tool text, args jsonb, elicitation jsonb, question_state jsonb,
        expires_at timestamptz, holder text)
      -- One that is there is named to be closed.
      on conflict (project_id, id) do update set status = 'expired', actor = null, resolved_at = now()
    ), expired as (
      update approvals set status = 'expired', resolved_at = now()
      from run where run.status in ('completed', 'failed', 'cancelled')
        and approvals.project_id = $1 and approvals.run_id = $2 and approvals.status = 'pending'
    ), thread as (
      ${summarizeSql({ run: 'run', project: '$1', summary: '$19::text', turn: '$20::int' })}
    )
    select run.*, ${BUDGET_CROSSED_SQL} as budget_crossed from run`,
}));
