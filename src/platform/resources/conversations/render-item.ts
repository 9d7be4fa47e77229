/** Messages' parts in the OpenAI dialect's words. */
import type { JsonObject } from '../../tables.ts';
import type { LeftPart } from './message-row.ts';
import type { ConversationItem } from './schema.ts';

const COMPLETED = 'completed';

export function renderMessage(
  id: string,
  role: 'user' | 'system' | 'assistant',
  parts: readonly LeftPart[],
): ConversationItem {
  const content =
    role === 'assistant'
      ? [{ type: 'output_text', text: textOf(parts), annotations: [], logprobs: [] }]
      : parts.map(({ value }) => renderInput(value));
  return { id, type: 'message', status: COMPLETED, role, content };
}

export function renderReasoning(id: string, parts: readonly LeftPart[]): ConversationItem {
  return { id, type: 'reasoning', status: COMPLETED, summary: [{ type: 'summary_text', text: textOf(parts) }] };
}

export function renderCall(id: string, [part]: readonly LeftPart[]): ConversationItem {
  const { toolName, input } = part?.value ?? {};
  return {
    id,
    type: 'function_call',
    status: COMPLETED,
    call_id: part?.callId ?? '',
    name: String(toolName),
    arguments: JSON.stringify(input ?? {}),
  };
}

export function renderSearch(id: string, [part]: readonly LeftPart[]): ConversationItem {
  const { query } = (part?.value.input ?? {}) as JsonObject;
  const queries = typeof query === 'string' && query !== '' ? [query] : [];
  return { id, type: 'file_search_call', status: COMPLETED, queries, results: null };
}

export function renderResult(id: string, { callId = '', value }: LeftPart): ConversationItem {
  return {
    id,
    type: 'function_call_output',
    status: COMPLETED,
    call_id: callId,
    output: outputText((value.output ?? {}) as JsonObject),
  };
}

/** A result as the model is told of it: a text, a JSON value, an error, or that a person forbade the call. */
function outputText({ type, value, reason }: JsonObject): string {
  if (type === 'execution-denied') return typeof reason === 'string' ? reason : '';
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function textOf(parts: readonly LeftPart[]): string {
  return parts.map(({ value }) => String(value.text ?? '')).join('');
}

function renderInput(part: Readonly<JsonObject>): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  const mediaType = String(part.mediaType ?? '');
  const data = (part.data ?? {}) as JsonObject;
  const filename = typeof part.filename === 'string' ? { filename: part.filename } : {};
  const fileId = data.type === 'stored' ? { file_id: data.file_id } : {};
  const bytes = typeof data.data === 'string' ? data.data : undefined;
  const address = data.type === 'url' ? String(data.url) : undefined;
  if (mediaType.startsWith('image/')) {
    const url = address ?? (bytes === undefined ? undefined : `data:${mediaType};base64,${bytes}`);
    return { type: 'input_image', detail: 'auto', ...fileId, ...(url === undefined ? {} : { image_url: url }) };
  }
  if (mediaType.startsWith('audio/') && bytes !== undefined) {
    const format = mediaType.slice('audio/'.length);
    return { type: 'input_audio', input_audio: { data: bytes, format: format === 'mpeg' ? 'mp3' : format } };
  }
  return {
    type: 'input_file',
    ...filename,
    ...fileId,
    ...(address === undefined ? {} : { file_url: address }),
    ...(bytes === undefined ? {} : { file_data: `data:${mediaType};base64,${bytes}` }),
  };
}
