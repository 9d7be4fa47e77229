/** Runs: their steps, their timelines and the approvals that they wait for. */
import type { Generated } from 'kysely';
import type { Actor, Json, JsonDefault, JsonObject, ProjectId, TableNames } from './columns.ts';

export type RunStatus = 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled';

interface RunsTable {
  project_id: ProjectId;
  id: string;
  smith_id: string;
  thread_id: string;
  turn: number;
  agent_id: string | null;
  agent_version: number | null;
  status: RunStatus;
  channel: string;
  input: Json<JsonObject[]>;
  config: Json<JsonObject>;
  output: Json<JsonObject> | null;
  stop_reason: string | null;
  error: Json<{ code: string; message: string }> | null;
  warnings: JsonDefault<{ code: string; message: string }[]>;
  input_tokens: Generated<number>;
  cached_input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  reasoning_tokens: Generated<number>;
  cost_micros: number | null;
  metadata: JsonDefault<JsonObject>;
  actor: Json<Actor> | null;
  app_id: string | null;
  replay_of: string | null;
  replica_id: string | null;
  attempt: Generated<number>;
  cancel_requested_at: Date | null;
  interrupted_by: string[] | null;
  progress_mark: number | null;
  trial_attempt: number | null;
  surface: Generated<'run' | 'chat' | 'response'>;
  requests: JsonDefault<JsonObject[]>;
  pauses: JsonDefault<JsonObject[]>;
  sealed_mcp_credentials: string | null;
  hidden_at: Date | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface RunStepsTable {
  project_id: ProjectId;
  run_id: string;
  position: number;
  kind: 'model' | 'tool' | 'compaction' | 'mcp_list';
  status: 'approval' | 'waiting' | 'connection' | 'ready' | 'started' | 'completed';
  name: string;
  call_id: string | null;
  input: Json<JsonObject> | null;
  output: Json<unknown> | null;
  error: string | null;
  input_tokens: Generated<number>;
  cached_input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  reasoning_tokens: Generated<number>;
  cost_micros: number | null;
  target: Json<JsonObject> | null;
  /** `YYYY-MM-DD`; null: it called no model. */
  usage_day: string | null;
  customer_id: string | null;
  started_at: Generated<Date>;
  finished_at: Date | null;
}

interface RunEventsTable {
  project_id: ProjectId;
  run_id: string;
  seq: number;
  type: string;
  data: Json<JsonObject>;
  created_at: Generated<Date>;
}

interface ApprovalsTable {
  project_id: ProjectId;
  id: string;
  run_id: string;
  smith_id: string;
  tool_call_id: string;
  tool: string;
  args: JsonDefault<JsonObject>;
  elicitation: Json<JsonObject> | null;
  status: Generated<'pending' | 'approved' | 'rejected' | 'expired'>;
  actor: string | null;
  reason: string | null;
  content: Json<JsonObject> | null;
  /** Of a question: what its tool is given back. */
  question_state: Json<JsonObject> | null;
  /** When it closes by itself. */
  expires_at: Date | null;
  /** The replica without which it cannot be answered. */
  holder: string | null;
  created_at: Generated<Date>;
  resolved_at: Date | null;
}

interface ConnectionWaitsTable {
  project_id: ProjectId;
  run_id: string;
  call_id: string;
  smith_id: string;
  /** A provider, or `mcp:<server>`. */
  connection_key: string;
  provider: string;
  mcp_server: string;
  authorize_url: string;
  connected_at: Date | null;
  created_at: Generated<Date>;
}

export interface RunsTables {
  runs: RunsTable;
  run_steps: RunStepsTable;
  run_events: RunEventsTable;
  approvals: ApprovalsTable;
  connection_waits: ConnectionWaitsTable;
}

export const runsTables: TableNames<RunsTables> = {
  runs: true,
  run_steps: true,
  run_events: true,
  approvals: true,
  connection_waits: true,
};
