/** The platform's tables as its queries see them; migrations/platform has their SQL. */
import type { ColumnType, Generated } from 'kysely';

/** jsonb: read as the parsed value, written as JSON text (see `json` in kernel/db). */
type Json<T> = ColumnType<T, string, string>;
type JsonDefault<T> = ColumnType<T, string | undefined, string>;

export type JsonObject = Record<string, unknown>;

/** Who did it, as events and runs show it. */
export interface Actor {
  kind: 'smith' | 'tenant' | 'operator';
  id: string;
  token_id: string;
  email: string;
}

export interface SkillRef {
  skill_id: string;
  /** Absent: the skill's default version of the moment. */
  version?: number;
}

/** The settings that an agent and a smith share, each of which a smith may set for itself. */
export interface SmithConfig {
  model: string;
  instructions: string;
  enabled_hosted_tools: string[];
  vector_store_ids: string[];
  mcp_servers: string[] | null;
  skills: SkillRef[];
  auto_memory: boolean;
  memory_consolidation: boolean;
}

export interface AgentVariable {
  name: string;
  default?: string | null;
  description?: string | null;
  required: boolean;
}

/** An agent's working copy; publishing snapshots it. */
export interface AgentDraft {
  instructions: string | null;
  model: string | null;
  enabled_hosted_tools: string[];
  vector_store_ids: string[];
  mcp_servers: string[] | null;
  skills: SkillRef[];
  auto_memory: boolean | null;
  memory_consolidation: boolean | null;
  variables: AgentVariable[];
  ui_resources: JsonObject[];
}

interface OrganizationsTable {
  id: string;
  name: string;
  created_at: Generated<Date>;
}

interface ProjectsTable {
  id: string;
  organization_id: string;
  name: string;
  metadata: JsonDefault<JsonObject>;
  created_at: Generated<Date>;
  archived_at: Date | null;
}

interface SigningKeysTable {
  kid: string;
  public_jwk: Json<JsonObject>;
  sealed_private_jwk: string;
  created_at: Generated<Date>;
  retired_at: Date | null;
}

interface OrganizationKeysTable {
  organization_id: string;
  id: string;
  name: string | null;
  expires_at: Date | null;
  created_at: Generated<Date>;
  revoked_at: Date | null;
}

/** In every tenant table the scope fills project_id in, so inserts leave it out. */
type ProjectId = Generated<string>;

interface TokensTable {
  project_id: ProjectId;
  id: string;
  scope: 'admin' | 'smith';
  smith_id: string | null;
  scopes: string[];
  name: string | null;
  expires_at: Date | null;
  created_at: Generated<Date>;
  revoked_at: Date | null;
}

interface EventsTable {
  project_id: ProjectId;
  id: string;
  type: string;
  smith_id: string | null;
  actor: Json<Actor> | null;
  data: Json<JsonObject>;
  created_at: Generated<Date>;
  /** The number of the transaction, as text. */
  written_by: Generated<string>;
}

interface AgentsTable {
  project_id: ProjectId;
  id: string;
  slug: string | null;
  name: string;
  draft: Json<AgentDraft>;
  active_version: number | null;
  rollout_version: number | null;
  rollout_percent: Generated<number>;
  latest_version: Generated<number>;
  smith_ordinal: Generated<number>;
  smith_count: Generated<number>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  archived_at: Date | null;
}

interface AgentVersionsTable {
  project_id: ProjectId;
  agent_id: string;
  version: number;
  snapshot: Json<AgentDraft>;
  created_by: string | null;
  note: string | null;
  created_at: Generated<Date>;
}

interface CustomersTable {
  project_id: ProjectId;
  id: string;
  name: string;
  external_ids: JsonDefault<Record<string, string>>;
  metadata: JsonDefault<JsonObject>;
  smith_count: Generated<number>;
  created_at: Generated<Date>;
}

interface SmithsTable {
  project_id: ProjectId;
  id: string;
  external_id: string | null;
  agent_id: string | null;
  customer_id: string | null;
  display_name: string | null;
  locale: string | null;
  timezone: string | null;
  metadata: JsonDefault<JsonObject>;
  config: JsonDefault<Partial<SmithConfig>>;
  pin: number | null;
  rollout_slot: Generated<number>;
  revision: Generated<number>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  archived_at: Date | null;
}

/** The view that joins a smith with the agent version which its next turn runs. */
interface SmithConfigurationsView extends SmithsTable {
  agent_name: string | null;
  agent_version: number | null;
  agent_snapshot: Json<AgentDraft> | null;
}

interface SmithRevisionsTable {
  project_id: ProjectId;
  smith_id: string;
  version: number;
  snapshot: Json<JsonObject>;
  created_by: string | null;
  note: string | null;
  created_at: Generated<Date>;
}

interface ModelKeysTable {
  project_id: ProjectId;
  /** '' for the tenant's own. */
  smith_id: Generated<string>;
  provider: string;
  sealed_api_key: string;
  base_url: string | null;
  workspace_id: string | null;
  updated_at: Generated<Date>;
}

export type RunStatus = 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled';

interface ThreadsTable {
  project_id: ProjectId;
  smith_id: string;
  id: string;
  turns: Generated<number>;
  summary: string | null;
  summary_turn: Generated<number>;
  recalled_turn: Generated<number>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

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
  output_tokens: Generated<number>;
  cost_micros: number | null;
  metadata: JsonDefault<JsonObject>;
  actor: Json<Actor> | null;
  replay_of: string | null;
  replica_id: string | null;
  attempt: Generated<number>;
  cancel_requested_at: Date | null;
  surface: Generated<'run' | 'chat' | 'response'>;
  requests: JsonDefault<JsonObject[]>;
  pauses: JsonDefault<JsonObject[]>;
  hidden_at: Date | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface RunStepsTable {
  project_id: ProjectId;
  run_id: string;
  position: number;
  kind: 'model' | 'tool' | 'compaction';
  status: 'approval' | 'waiting' | 'started' | 'completed';
  name: string;
  call_id: string | null;
  input: Json<JsonObject> | null;
  output: Json<unknown> | null;
  error: string | null;
  input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  cost_micros: number | null;
  started_at: Generated<Date>;
  finished_at: Date | null;
}

/** What was taken out of a message since it was written, and the role that it was written with. */
export interface RemovedParts {
  role: 'system' | 'user' | 'assistant' | 'tool';
  parts: { index: number; type: string; call_id?: string }[];
}

interface MessagesTable {
  project_id: ProjectId;
  smith_id: string;
  thread_id: string;
  turn: number;
  position: number;
  run_id: string | null;
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: Json<unknown>;
  tokens: number;
  removed: ColumnType<RemovedParts | null, string | null | undefined, string>;
  created_at: Generated<Date>;
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
  created_at: Generated<Date>;
  resolved_at: Date | null;
}

interface FilesTable {
  project_id: ProjectId;
  id: string;
  smith_id: string | null;
  filename: string;
  media_type: string;
  purpose: string;
  bytes: number;
  sha256: string;
  listed: Generated<boolean>;
  created_at: Generated<Date>;
}

interface VectorStoresTable {
  project_id: ProjectId;
  id: string;
  smith_id: string | null;
  name: Generated<string>;
  description: string | null;
  metadata: JsonDefault<JsonObject>;
  embedding_model: string;
  chunk_tokens: number;
  overlap_tokens: number;
  files_in_progress: Generated<number>;
  files_completed: Generated<number>;
  files_failed: Generated<number>;
  files_cancelled: Generated<number>;
  usage_bytes: Generated<number>;
  last_active_at: Date | null;
  created_at: Generated<Date>;
  deleted_at: Date | null;
}

interface VectorStoreBatchesTable {
  project_id: ProjectId;
  vector_store_id: string;
  id: string;
  cancelled_at: Date | null;
  created_at: Generated<Date>;
}

export type VectorStoreFileStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled';
export type IngestErrorCode = 'server_error' | 'unsupported_file' | 'no_text_layer' | 'invalid_file';
export type FileAttributes = Record<string, string | number | boolean>;

interface VectorStoreFilesTable {
  project_id: ProjectId;
  vector_store_id: string;
  file_id: string;
  position: Generated<number>;
  batch_id: string | null;
  status: Generated<VectorStoreFileStatus>;
  attributes: Json<FileAttributes> | null;
  chunk_tokens: number;
  overlap_tokens: number;
  chunk_count: Generated<number>;
  usage_bytes: Generated<number>;
  error_code: IngestErrorCode | null;
  error_message: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  queued_at: Date | null;
  attempts: Generated<number>;
  actor: Json<Actor> | null;
}

interface VectorStoreChunksTable {
  project_id: ProjectId;
  vector_store_id: string;
  file_id: string;
  position: number;
  text: string;
  tokens: number;
  /** pgvector's text form, `[0.1,0.2]`. */
  embedding: string;
  lexemes: ColumnType<string, never, never>;
}

/** Blobs that no row stands for yet, or no longer. */
interface UnclaimedBlobsTable {
  project_id: ProjectId;
  blob_key: string;
  removable_at: Date;
}

interface ConversationsTable {
  project_id: ProjectId;
  id: string;
  smith_id: string;
  title: string | null;
  metadata: JsonDefault<JsonObject>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  deleted_at: Date | null;
}

interface SmithMemoriesTable {
  project_id: ProjectId;
  smith_id: string;
  content: Generated<string>;
  recalls: Generated<boolean>;
  updated_at: Generated<Date>;
}

interface RecallPassagesTable {
  project_id: ProjectId;
  smith_id: string;
  thread_id: string;
  turn: number;
  position: number;
  run_id: string | null;
  text: string;
  /** pgvector's text form, `[0.1,0.2]`. */
  embedding: string;
}

/** Tables of one tenant's rows: reachable through a tenant scope only. */
export interface TenantTables {
  tokens: TokensTable;
  events: EventsTable;
  agents: AgentsTable;
  agent_versions: AgentVersionsTable;
  customers: CustomersTable;
  smiths: SmithsTable;
  smith_configurations: SmithConfigurationsView;
  smith_revisions: SmithRevisionsTable;
  model_keys: ModelKeysTable;
  threads: ThreadsTable;
  runs: RunsTable;
  run_steps: RunStepsTable;
  messages: MessagesTable;
  run_events: RunEventsTable;
  approvals: ApprovalsTable;
  smith_memories: SmithMemoriesTable;
  recall_passages: RecallPassagesTable;
  conversations: ConversationsTable;
  files: FilesTable;
  vector_stores: VectorStoresTable;
  vector_store_batches: VectorStoreBatchesTable;
  vector_store_files: VectorStoreFilesTable;
  vector_store_chunks: VectorStoreChunksTable;
  unclaimed_blobs: UnclaimedBlobsTable;
}

/** Tables above the tenants. */
export interface SystemTables {
  organizations: OrganizationsTable;
  projects: ProjectsTable;
  signing_keys: SigningKeysTable;
  organization_keys: OrganizationKeysTable;
}

/** The names of TenantTables, for the scope to check against. */
export const tenantTables: ReadonlySet<keyof TenantTables> = new Set([
  'tokens',
  'events',
  'agents',
  'agent_versions',
  'customers',
  'smiths',
  'smith_configurations',
  'smith_revisions',
  'model_keys',
  'threads',
  'runs',
  'run_steps',
  'messages',
  'run_events',
  'approvals',
  'smith_memories',
  'recall_passages',
  'conversations',
  'files',
  'vector_stores',
  'vector_store_batches',
  'vector_store_files',
  'vector_store_chunks',
  'unclaimed_blobs',
] as const);
