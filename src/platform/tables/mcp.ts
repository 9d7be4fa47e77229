/** Registered MCP servers and the tools that they list. */
import type { Generated } from 'kysely';
import type { Json, JsonObject, ProjectId, TableNames } from './columns.ts';

export type McpAuthKind = 'none' | 'bearer' | 'oauth';
export type McpClientMode = 'none' | 'auto' | 'registered' | 'dynamic' | 'metadata_document';
export type McpServerStatus = 'pending' | 'ready' | 'auth_required' | 'unreachable' | 'failed';

/** A rule of an approval policy. */
export interface McpPolicyRule {
  match: string;
  require: 'always' | 'never';
}

/** What a server says of a tool. Absent: it says nothing. */
export interface McpToolHints {
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
}

/** A tool as its server lists it. */
export interface McpToolEntry {
  name: string;
  description: string | null;
  /** As the server gave it. */
  input_schema: JsonObject;
  hints: McpToolHints;
  /** Of all that the server says of the tool, hexadecimal. */
  hash: string;
  /** Why models are not offered it. Absent: they are. */
  withheld?: string;
}

/** How a server is spoken to. */
export interface McpProtocol {
  transport: 'streamable_http' | 'sse';
  /** What the client takes in place of asking again. */
  prior: JsonObject;
}

interface McpServersTable {
  project_id: ProjectId;
  id: string;
  name: string;
  url: string;
  catalog_slug: string | null;
  auth_kind: McpAuthKind;
  auth_provider: string | null;
  auth_client_mode: McpClientMode;
  sealed_secret: string | null;
  tool_allowlist: string[] | null;
  approval_policy: Json<McpPolicyRule[]>;
  revision: Generated<number>;
  status: Generated<McpServerStatus>;
  discovery_error: string | null;
  tools_hash: string | null;
  tools_refreshed_at: Date | null;
  protocol: Json<McpProtocol> | null;
  protocol_found_at: Date | null;
  last_call_error: string | null;
  last_call_error_at: Date | null;
  address_since: Generated<Date>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface McpToolListsTable {
  project_id: ProjectId;
  server_id: string;
  hash: string;
  tools: Json<McpToolEntry[]>;
  tool_count: number;
  replaced_at: Date | null;
  created_at: Generated<Date>;
}

interface McpSuspendedCallsTable {
  project_id: ProjectId;
  run_id: string;
  call_id: string;
  smith_id: string;
  server_id: string;
  revision: number;
  sealed_session: string;
  claimed_until: Date | null;
  created_at: Generated<Date>;
}

export interface McpTables {
  mcp_servers: McpServersTable;
  mcp_tool_lists: McpToolListsTable;
  mcp_suspended_calls: McpSuspendedCallsTable;
}

export const mcpTables: TableNames<McpTables> = { mcp_servers: true, mcp_tool_lists: true, mcp_suspended_calls: true };
