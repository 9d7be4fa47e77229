/** The tools that a request brings, as its turn takes them. */
import type { ProjectCaller } from '../../access/caller.ts';
import type { Engine, TurnSettings } from '../../engine/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { ServerCredentials } from '../../tools/request-servers.ts';
import { parseTools, requireStores } from './parse-tools.ts';
import { type KnownLists, prepareServers } from './request-servers.ts';

interface ToolsRequest {
  readonly db: TenantDb;
  readonly caller: ProjectCaller;
  readonly body: { readonly tools?: unknown; readonly tool_choice?: unknown };
}

export interface PreparedTools {
  readonly tools: TurnSettings['tools'];
  readonly credentials: ServerCredentials;
}

/**
 * Looks the hosts of MCP servers up: call it outside of any transaction. `findKnown`: where lists of their tools are looked for
 * before they are asked. Throws what `parseTools`, `requireStores` and `prepareServers` throw.
 */
export async function prepareTools(
  engine: Engine,
  { db, caller, body }: ToolsRequest,
  findKnown?: () => Promise<KnownLists>,
): Promise<PreparedTools> {
  const { tools: client, toolChoice: choice, fileSearch, mcp } = parseTools(body.tools, body.tool_choice);
  await requireStores(db, caller, fileSearch);
  const known = mcp.length === 0 ? undefined : await findKnown?.();
  const { servers, credentials } = await prepareServers(engine, caller.projectId, mcp, known);
  const tools = { client, choice, file_search: fileSearch ?? null };
  return { tools: servers === undefined ? tools : { ...tools, mcp: servers }, credentials };
}
