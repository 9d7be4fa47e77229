import { requiresApproval } from '../../mcp/index.ts';
import type { McpServer } from './schema.ts';
import type { McpServerRow } from './store.ts';

/** The public shape of a row. */
export function renderMcpServer(row: McpServerRow): McpServer {
  const { auth_kind, auth_provider, auth_client_mode, tools, tool_allowlist, ...rest } = row;
  const { tools_refreshed_at, last_call_error_at, created_at, ...shown } = rest;
  const allowed = tool_allowlist === null ? undefined : new Set(tool_allowlist);
  return {
    ...shown,
    tool_allowlist,
    auth: { kind: auth_kind, provider: auth_provider, client_mode: auth_client_mode },
    origin: row.catalog_slug === null ? 'custom' : 'catalog',
    tools: (tools ?? []).map((tool) => ({
      name: tool.name,
      description: tool.description,
      requires_approval: requiresApproval(row.approval_policy, tool),
      enabled: tool.withheld === undefined && allowed?.has(tool.name) !== false,
    })),
    tools_discovered: tools?.length ?? 0,
    tools_refreshed_at: tools_refreshed_at?.toISOString() ?? null,
    last_call_error_at: last_call_error_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  };
}
