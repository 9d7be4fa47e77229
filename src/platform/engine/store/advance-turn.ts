/**
 * One step of a turn into the store, in one statement: what the step did and cost, what the next turn will read, the
 * timeline and the feed, and the turn's new state. Fenced by the lease. Everything that changes a turn after its start
 * goes through here, so a step is wholly there or not at all and is paid for once. Steps of several turns of one project may
 * go together.
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
import { foldWholeAnswers, type StoredFrame } from './stored-frame.ts';

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

/** A step as the statement takes it. */
export interface TurnStep {
  readonly key: TurnKey;
  /** JSON. */
  readonly row: string;
  /** Something is told on the feed. */
  readonly isToldOf: boolean;
}

/** How the steps of one statement are alike. */
export interface StepTerms {
  readonly projectId: string;
  /** Who executes the turns. */
  readonly replicaId: string;
  /** What the steps cost is drawn from the wallet. */
  readonly draw: DrawTerms | undefined;
}

export function describeStep(key: TurnKey, actor: Actor | null, advance: TurnAdvance): TurnStep {
  const feed = (advance.feed ?? []).map((event) => ({ ...event, id: mintId('evt') }));
  const row = json({
    id: key.runId,
    attempt: key.attempt,
    status: advance.status,
    output: advance.output,
    stop_reason: advance.stopReason,
    error: advance.error,
    warnings: advance.warnings ?? [],
    input_tokens: advance.inputTokens ?? 0,
    cached_input_tokens: advance.cachedInputTokens ?? 0,
    output_tokens: advance.outputTokens ?? 0,
    reasoning_tokens: advance.reasoningTokens ?? 0,
    cost_micros: advance.costMicros,
    steps: advance.steps ?? [],
    messages: advance.messages ?? [],
    frames: foldWholeAnswers(advance.frames ?? []),
    feed,
    approvals: advance.approvals ?? [],
    actor,
    summary: advance.summary?.text,
    summary_turn: advance.summary?.turn,
    releases: advance.releasesBudgets === true,
  });
  return { key, row, isToldOf: feed.length > 0 };
}

/** Commits the step. Returns the run as it is now; throws LeaseLostError when the turn is no longer this replica's. */
export async function advanceTurn(
  db: Executor,
  key: TurnKey,
  replicaId: string,
  actor: Actor | null,
  advance: TurnAdvance,
): Promise<RunRow> {
  const terms = { projectId: key.projectId, replicaId, draw: undefined };
  const [row] = await advanceTurns(db, terms, [describeStep(key, actor, advance)]);
  if (row === undefined) throw new LeaseLostError(key.runId);
  return row;
}

/** Commits steps of different turns: the runs as they are now, undefined in the place of one that is no longer this replica's. */
export async function advanceTurns(
  db: Executor,
  { projectId, replicaId, draw }: StepTerms,
  steps: readonly TurnStep[],
): Promise<readonly (RunRow | undefined)[]> {
  const { rows } = await db.query<RunRow & { budget_crossed: boolean }>({
    ...statementOf(draw),
    values: [
      projectId,
      replicaId,
      `[${steps.map(({ row }) => row).join(',')}]`,
      ...(draw === undefined ? [] : [mintId('wtx')]),
    ],
  });
  const found = new Map(rows.map(({ budget_crossed: _, ...row }) => [row.id, row]));
  if (steps.some(({ key, isToldOf }) => isToldOf && found.has(key.runId))) db.wake(FEED_CHANNEL);
  if (rows[0]?.budget_crossed === true) db.wake(BUDGETS_CHANNEL);
  return steps.map(({ key }) => found.get(key.runId));
}

const statementOf = createDrawStatements((terms) => ({
  text: `
    with asked as (
      select * from jsonb_to_recordset($3::jsonb) as a (
        id text, attempt int, status text, output jsonb, stop_reason text, error jsonb, warnings jsonb, input_tokens bigint,
        cached_input_tokens bigint, output_tokens bigint, reasoning_tokens bigint, cost_micros bigint, steps jsonb,
        messages jsonb, frames jsonb, feed jsonb, approvals jsonb, actor jsonb, summary text, summary_turn int, releases boolean)
    ), run as (
      update runs set
        status = a.status,
        output = coalesce(a.output, runs.output),
        stop_reason = coalesce(a.stop_reason, runs.stop_reason),
        error = coalesce(a.error, runs.error),
        warnings = runs.warnings || a.warnings,
        input_tokens = runs.input_tokens + a.input_tokens,
        output_tokens = runs.output_tokens + a.output_tokens,
        cached_input_tokens = runs.cached_input_tokens + a.cached_input_tokens,
        reasoning_tokens = runs.reasoning_tokens + a.reasoning_tokens,
        cost_micros = case when a.cost_micros is null then runs.cost_micros else coalesce(runs.cost_micros, 0) + a.cost_micros end,
        sealed_mcp_credentials = case when a.status in ('in_progress', 'paused') then runs.sealed_mcp_credentials end,
        updated_at = now()
      from asked a
      where runs.project_id = $1 and runs.id = a.id and runs.replica_id = $2 and runs.attempt = a.attempt
        and runs.status = 'in_progress'
      returning runs.*
    ), stepped as (
      select run.project_id, run.id, run.smith_id, run.agent_id, run.app_id, run.thread_id, run.turn, a.steps, a.messages, a.frames, a.feed,
        a.approvals, a.actor, a.summary, a.summary_turn, a.releases
      from run join asked a on a.id = run.id
    ), step as (
      insert into run_steps (project_id, run_id, position, kind, status, name, call_id, input, output, error, target,
                             input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, cost_micros,
                             usage_day, customer_id, started_at, finished_at)
      select $1, stepped.id, s.position, s.kind, s.status, s.name, s.call_id, s.input, s.output, s.error, s.target,
             coalesce(s.input_tokens, 0), coalesce(s.cached_input_tokens, 0), coalesce(s.output_tokens, 0),
             coalesce(s.reasoning_tokens, 0), s.cost_micros,
             case when s.kind = 'model' or s.input_tokens + s.output_tokens > 0 then ${TODAY_SQL} end,
             (select customer_id from smiths smith where smith.project_id = $1 and smith.id = stepped.smith_id),
             coalesce(s.started_at, now()), s.finished_at
      from stepped, jsonb_to_recordset(stepped.steps) as s (
        position int, kind text, status text, name text, call_id text, input jsonb, output jsonb, error text, target jsonb,
        input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
        cost_micros bigint, started_at timestamptz, finished_at timestamptz)
      on conflict (project_id, run_id, position) do update
        set status = excluded.status, output = excluded.output, error = excluded.error, finished_at = excluded.finished_at
      returning *
    ), used as (
      select step.usage_day as day, 'turn' as source, step.name as model, '' as meter, stepped.smith_id,
        coalesce(stepped.agent_id, '') as agent_id, coalesce(step.customer_id, '') as customer_id,
        coalesce(stepped.app_id, '') as app_id,
        1 as calls, case when step.cost_micros is null then 1 else 0 end as unpriced_calls,
        step.input_tokens, step.cached_input_tokens, step.output_tokens, step.reasoning_tokens,
        coalesce(step.cost_micros, 0) as cost_micros, 0 as quantity, 0 as seconds
      from step join stepped on stepped.id = step.run_id where step.usage_day is not null
    ), ${recordUsageSql({ project: '$1', rows: 'used', holder: 'any (array(select id from stepped where releases))', draw: terms && { terms, id: '$4' } })},
    said as (
      ${insertMessagesSql({ run: 'stepped', messages: 'stepped.messages' })}
    ), frames as (
      insert into run_events (project_id, run_id, seq, type, data, created_at)
      select $1, stepped.id, f.seq, f.type, f.data, f.created_at
      from stepped, jsonb_to_recordset(stepped.frames) as f (seq bigint, type text, data jsonb, created_at timestamptz)
      on conflict (project_id, run_id, seq) do nothing
    ), feed as (${appendEventsSql({ source: 'stepped', project: '$1', actor: 'stepped.actor', events: 'stepped.feed' })}
    ), asked_for as (
      insert into approvals (project_id, id, run_id, smith_id, tool_call_id, tool, args,
                             elicitation, question_state, expires_at, holder)
      select $1, a.id, stepped.id, stepped.smith_id, a.tool_call_id, a.tool, a.args,
             a.elicitation, a.question_state, a.expires_at, a.holder
      from stepped, jsonb_to_recordset(stepped.approvals) as a (
        id text, tool_call_id text, tool text, args jsonb, elicitation jsonb, question_state jsonb,
        expires_at timestamptz, holder text)
      -- One that is there is named to be closed.
      on conflict (project_id, id) do update set status = 'expired', actor = null, resolved_at = now()
    ), expired as (
      update approvals set status = 'expired', resolved_at = now()
      from run where run.status in ('completed', 'failed', 'cancelled')
        and approvals.project_id = $1 and approvals.run_id = run.id and approvals.status = 'pending'
    ), thread as (
      ${summarizeSql({ run: 'stepped', project: '$1', summary: 'stepped.summary', turn: 'stepped.summary_turn' })}
    )
    select run.*, ${BUDGET_CROSSED_SQL} as budget_crossed from run`,
}));
