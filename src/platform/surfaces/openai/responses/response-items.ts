/** The items of a response's output, as events, responses and lists show them. */

import type { JsonObject } from '../../../tables.ts';
import type { Citation, FoundPassage } from '../../../tools/file-search.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';

/** Under which name approvals of this server's own tools ask: clients of the dialect know them from MCP servers. */
const SERVER_LABEL = 'ironcraft';

export interface OutputItem extends JsonObject {
  readonly type: string;
  readonly id: string;
}

export function textPart(text: string, annotations: readonly Citation[] = []): JsonObject {
  return { type: 'output_text', text, annotations, logprobs: [] };
}

export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text };
}

export function messageItem(id: string, status: ItemStatus, content: readonly JsonObject[]): OutputItem {
  return { id, type: 'message', status, role: 'assistant', content };
}

/** The thoughts stand in `summary`: that is where clients read them, live and afterwards. */
export function reasoningItem(id: string, status: ItemStatus, summary: readonly JsonObject[]): OutputItem {
  return { id, type: 'reasoning', status, summary };
}

export function functionCallItem(
  id: string,
  status: ItemStatus,
  call: { readonly callId: string; readonly name: string; readonly arguments: string },
): OutputItem {
  return { id, type: 'function_call', status, call_id: call.callId, name: call.name, arguments: call.arguments };
}

/** A call that waits for a person, as `run.paused` shows it. */
export function approvalRequestItem(call: JsonObject): OutputItem {
  const { approval_id: id, name, arguments: args, elicitation } = call;
  const mcp = readServer(call);
  return {
    id: String(id),
    type: 'mcp_approval_request',
    name: mcp?.name ?? String(name),
    arguments: JSON.stringify(args ?? {}),
    server_label: mcp?.server_label ?? SERVER_LABEL,
    ...(elicitation === undefined ? {} : { elicitation }),
  };
}

/** Whose tool a call is of, where it is an MCP server's. */
export interface CalledServer {
  readonly server_label: string;
  readonly name: string;
  readonly approval_id?: string;
}

export function readServer({ mcp }: JsonObject): CalledServer | undefined {
  return mcp as CalledServer | undefined;
}

/** `result`: absent while there is none. Clients refuse null for what is not there. */
export function mcpCallItem(
  id: string,
  status: ItemStatus,
  { server_label, name, approval_id }: CalledServer,
  args: string,
  result: { readonly output: string } | { readonly error: string } | undefined,
): OutputItem {
  return {
    id,
    type: 'mcp_call',
    status,
    server_label,
    name,
    arguments: args,
    ...(approval_id === undefined ? {} : { approval_request_id: approval_id }),
    ...result,
  };
}

/** `tools`: each as a timeline shows it. Clients refuse null for what is not there. */
export function mcpListItem(
  id: string,
  status: ItemStatus,
  server_label: string,
  tools: readonly JsonObject[],
  error?: string,
): OutputItem {
  return { id, type: 'mcp_list_tools', status, server_label, tools, ...(error === undefined ? {} : { error }) };
}

/** What a call gave, as `tool.completed` shows it. */
export function mcpResult(output: unknown): { readonly output: string } | { readonly error: string } {
  const { error, content } = (output ?? {}) as JsonObject;
  if (typeof error === 'string') return { error };
  if (!Array.isArray(content)) return { output: JSON.stringify(output ?? {}) };
  const texts = (content as JsonObject[]).map(({ type, text, file_id }) =>
    type === 'text' ? String(text) : `[file ${String(file_id)}]`,
  );
  return { output: texts.join('\n\n') };
}

/** `results`: null unless the request includes them, or while there are none. */
export function fileSearchItem(
  id: string,
  status: ItemStatus,
  query: unknown,
  results: readonly FoundPassage[] | null,
): OutputItem {
  return {
    id,
    type: 'file_search_call',
    status,
    queries: typeof query === 'string' && query !== '' ? [query] : [],
    results: results === null ? null : results.map(renderPassage),
  };
}

function renderPassage({ file_id, filename, score, attributes, text }: FoundPassage): JsonObject {
  return { file_id, filename, score, attributes: attributes ?? {}, text };
}

export function passagesOf(output: unknown): readonly FoundPassage[] {
  const results = (output as { results?: unknown } | null | undefined)?.results;
  return Array.isArray(results) ? (results as FoundPassage[]) : [];
}
