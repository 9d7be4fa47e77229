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

export function approvalRequestItem(id: string, name: string, args: unknown): OutputItem {
  return {
    id,
    type: 'mcp_approval_request',
    name,
    arguments: JSON.stringify(args ?? {}),
    server_label: SERVER_LABEL,
  };
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
