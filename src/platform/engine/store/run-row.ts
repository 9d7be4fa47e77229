/** A run as the store has it, and as replies show it. */
import type { Actor, JsonObject, RunStatus } from '../../tables.ts';
import type { RunFailure, TurnKey, Warning } from '../turn.ts';
import type { StoredConfig } from './stored-config.ts';

/** What started the turn. */
export type Surface = 'run' | 'chat' | 'response';

/** How a run stood at a pause that it has left (left-pauses.ts). */
export interface LeftPause {
  /** The last frame of the pause; null where nothing answered it. */
  readonly seq: number | null;
  /** ISO-8601. */
  readonly at: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Absent in pauses of before. */
  readonly cached_input_tokens?: number;
  readonly reasoning_tokens?: number;
  readonly cost_micros: number | null;
  /** How many warnings there were. */
  readonly warnings: number;
  readonly content: string;
  readonly annotations: unknown;
  /** How many calls had been made: they stay in the run's output, in order. */
  readonly calls: number;
  /** The status of those among them that were not over. */
  readonly open: Readonly<Record<string, string>>;
}

export interface RunRow {
  id: string;
  project_id: string;
  smith_id: string;
  thread_id: string;
  turn: number;
  agent_id: string | null;
  agent_version: number | null;
  status: RunStatus;
  channel: string;
  input: JsonObject[];
  config: StoredConfig;
  output: JsonObject | null;
  stop_reason: string | null;
  error: RunFailure | null;
  warnings: Warning[];
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  cost_micros: number | null;
  metadata: JsonObject;
  actor: Actor | null;
  /** The app whose token began it, also once that is disconnected. */
  app_id: string | null;
  replay_of: string | null;
  replica_id: string | null;
  attempt: number;
  cancel_requested_at: Date | null;
  /** Replicas that ended abruptly while they executed the turn, since it last completed a step; see orphans.ts. */
  interrupted_by: string[] | null;
  progress_mark: number | null;
  trial_attempt: number | null;
  surface: Surface;
  /** What each request of the turn said, as its surface echoes it, with the `segment` that it began. */
  requests: JsonObject[];
  /** The pauses that it has left, in order: each ends a segment. */
  pauses: LeftPause[];
  /** What may be sent to the MCP servers that the turn's request brought; null once it has ended. */
  sealed_mcp_credentials: string | null;
  /** Since when its responses can no longer be retrieved: started with `store: false`, or deleted. */
  hidden_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export function turnKeyOf(
  run: Pick<RunRow, 'project_id' | 'smith_id' | 'thread_id' | 'id' | 'turn' | 'attempt'>,
): TurnKey {
  return {
    projectId: run.project_id,
    smithId: run.smith_id,
    threadId: run.thread_id,
    runId: run.id,
    turn: run.turn,
    attempt: run.attempt,
  };
}

/** Cached tokens are among the input tokens, those of reasoning among the output tokens. */
export type UsedByRun = Pick<
  RunRow,
  'input_tokens' | 'cached_input_tokens' | 'output_tokens' | 'reasoning_tokens' | 'cost_micros'
>;

export const NOTHING_USED: UsedByRun = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  cost_micros: null,
};

/** The part of a row, or of another that holds it, that says what a run has used. */
export function usedBy(row: UsedByRun): UsedByRun {
  const { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, cost_micros } = row;
  return { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, cost_micros };
}

const MICROS_PER_UNIT = 1_000_000;

/** Usage as runs and `run.completed` show it; cost in US dollars, exact to the millionth, null without a known price. */
export function renderUsage(row: UsedByRun) {
  return {
    input_tokens: row.input_tokens,
    cached_input_tokens: row.cached_input_tokens,
    output_tokens: row.output_tokens,
    reasoning_tokens: row.reasoning_tokens,
    total_tokens: row.input_tokens + row.output_tokens,
    cost: row.cost_micros === null ? null : row.cost_micros / MICROS_PER_UNIT,
  };
}
