/** Agents, smiths, customers and the model keys of tenants and smiths. */
import type { Generated } from 'kysely';
import type { Json, JsonDefault, JsonObject, ProjectId, TableNames } from './columns.ts';

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

/** Origins that a UI resource may reach. */
export interface UiCsp {
  connectDomains: string[];
  resourceDomains: string[];
  frameDomains: string[];
  baseUriDomains: string[];
}

export interface UiResourceTool {
  description: string;
  /** JSON Schema of the arguments. */
  input_schema: JsonObject;
  instruction: string | null;
  mutating: boolean;
  visibility: ('model' | 'app')[];
}

/** A UI bundle as an agent has it; the document is that of `ui_bundles` with the hash. */
export interface UiResource {
  name: string;
  content_hash: string;
  csp: UiCsp | null;
  permissions: JsonObject | null;
  prefers_border: boolean | null;
  domain: string | null;
  tool: UiResourceTool | null;
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
  ui_resources: UiResource[];
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

export interface AgentsTables {
  agents: AgentsTable;
  agent_versions: AgentVersionsTable;
  customers: CustomersTable;
  smiths: SmithsTable;
  smith_configurations: SmithConfigurationsView;
  smith_revisions: SmithRevisionsTable;
  model_keys: ModelKeysTable;
}

export const agentsTables: TableNames<AgentsTables> = {
  agents: true,
  agent_versions: true,
  customers: true,
  smiths: true,
  smith_configurations: true,
  smith_revisions: true,
  model_keys: true,
};
