/** MCP servers that a request brings for its turn, besides those that its project has registered. */
import type { JsonObject, McpProtocol, McpToolEntry } from '../tables.ts';

/** Which of a server's tools: those that fit every member that is there. */
export interface McpToolFilter {
  readonly tool_names?: readonly string[];
  readonly read_only?: boolean;
}

/** `always` before `never`; a tool that neither names needs an approval, unless `always` alone says which do. */
export type McpApprovalRule = 'always' | 'never' | { readonly always?: McpToolFilter; readonly never?: McpToolFilter };

/** As a turn is configured with it: without what may be sent there, which is sealed with the run. */
export interface RequestServer {
  /** No other server of the turn has it. */
  readonly label: string;
  readonly url: string;
  /** Told to the model. */
  readonly description: string | null;
  /** Null: every tool. */
  readonly allowed: McpToolFilter | null;
  readonly approval: McpApprovalRule;
  /** What the server listed, where that was known as the turn began; absent: the turn asks it, once. */
  readonly tools?: readonly McpToolEntry[];
}

/** What a server listed, as the run keeps it. */
export interface ListedTools {
  readonly tools: readonly McpToolEntry[];
  /** How it was spoken to; null: to be found out. */
  readonly protocol: McpProtocol | null;
}

export interface OfferedRequestServer {
  readonly server: RequestServer;
  readonly list: ListedTools;
}

/** Headers by which servers know who calls, by label. */
export type ServerCredentials = ReadonlyMap<string, Readonly<Record<string, string>>>;

export interface RequestServers {
  /** The address as it is called. Looks the host up: call it outside of any transaction. Throws OutboundError. */
  checkUrl(address: string): Promise<string>;
  /** Tools as a client has them of an earlier list: checked as a server's are. Throws `service_overloaded`. */
  readTools(
    projectId: string,
    tools: readonly JsonObject[],
  ): Promise<{ readonly tools: readonly McpToolEntry[] } | { readonly problem: string }>;
  /** For `runs.sealed_mcp_credentials`: the fresh ones, and of those sealed before what concerns other servers. */
  seal(
    run: { readonly projectId: string; readonly runId: string },
    fresh: ServerCredentials,
    before: string | null,
  ): string;
  /**
   * Asks the server. Throws `invalid_url`, `connect_failed`, `auth_required`, `discovery_failed`, `service_overloaded` and the
   * signal's reason.
   */
  list(
    run: { readonly projectId: string; readonly runId: string },
    server: RequestServer,
    signal: AbortSignal,
  ): Promise<ListedTools>;
}

/** Whether models are offered the tool. */
export function isOffered({ allowed }: Pick<RequestServer, 'allowed'>, tool: McpToolEntry): boolean {
  return tool.withheld === undefined && (allowed === null || fitsFilter(allowed, tool));
}

function fitsFilter(
  { tool_names: names, read_only: readOnly }: McpToolFilter,
  { name, hints }: Pick<McpToolEntry, 'name' | 'hints'>,
): boolean {
  if (names !== undefined && !names.includes(name)) return false;
  return readOnly === undefined || (hints.readOnly === true) === readOnly;
}

/** Whether a person must approve calls of the tool. */
export function needsApproval(rule: McpApprovalRule, tool: Pick<McpToolEntry, 'name' | 'hints'>): boolean {
  if (typeof rule === 'string') return rule === 'always';
  const { always, never } = rule;
  if (always !== undefined && fitsFilter(always, tool)) return true;
  if (never !== undefined) return !fitsFilter(never, tool);
  return always === undefined;
}

/** Servers as responses and timelines show what they list. Clients refuse null for what is not there. */
export function showTools(server: Pick<RequestServer, 'allowed'>, { tools }: Pick<ListedTools, 'tools'>): JsonObject[] {
  return tools
    .filter((tool) => isOffered(server, tool))
    .map(({ name, description, input_schema, hints }) => {
      const annotations = {
        ...(hints.readOnly === undefined ? {} : { readOnlyHint: hints.readOnly }),
        ...(hints.destructive === undefined ? {} : { destructiveHint: hints.destructive }),
        ...(hints.idempotent === undefined ? {} : { idempotentHint: hints.idempotent }),
        ...(hints.openWorld === undefined ? {} : { openWorldHint: hints.openWorld }),
      };
      return {
        name,
        input_schema,
        ...(description === null ? {} : { description }),
        ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      };
    });
}
