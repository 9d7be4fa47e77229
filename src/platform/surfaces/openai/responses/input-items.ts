/** What was put into a response, as items: what `GET …/input_items` lists, and references name. */
import type { InputMessage } from '../../../engine/index.ts';
import type { JsonObject } from '../../../tables.ts';
import { functionCallItemId, functionCallOutputItemId, inputItemId, mcpCallItemId } from '../item-ids.ts';
import { functionCallItem, mcpCallItem, type OutputItem } from './response-items.ts';
import type { ResponseSegment } from './response-segment.ts';

/** In the order in which they were sent. */
export function listInputItems({ run, number, request }: ResponseSegment): OutputItem[] {
  if (number === 1) {
    const input = run.input as unknown as InputMessage[];
    const remote = remoteCallsOf(input);
    return input.flatMap((message, index) => showMessage(run.id, message, index, remote));
  }
  // A pause that was answered by another way than a response has no items.
  return request.segment === number
    ? (request.answers ?? []).map((item, index) => showAnswer(run.id, item, index))
    : [];
}

/** What calls of MCP servers' tools gave, by the call: they are one item with it. */
function remoteCallsOf(input: readonly InputMessage[]): ReadonlyMap<string, string> {
  const ids = new Set(
    input.flatMap(({ tool_calls: calls = [] }) => calls.filter(({ mcp }) => mcp).map(({ id }) => id)),
  );
  return new Map(
    input.flatMap(({ tool_call_id: id, content }) =>
      id !== undefined && ids.has(id) ? [[id, textOf(content)] as const] : [],
    ),
  );
}

function textOf(content: InputMessage['content']): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}

function showMessage(
  runId: string,
  message: InputMessage,
  index: number,
  remote: ReadonlyMap<string, string>,
): OutputItem[] {
  const { role, content, tool_calls: calls = [], tool_call_id: callId } = message;
  if (callId !== undefined) {
    if (remote.has(callId)) return [];
    return [showResult(runId, callId, textOf(content))];
  }
  const isSilent = content === '' && calls.length > 0;
  const textType = role === 'assistant' ? 'output_text' : 'input_text';
  const shown: OutputItem = {
    id: inputItemId(runId, index),
    type: 'message',
    role,
    status: 'completed',
    content: typeof content === 'string' ? [showText(textType, content)] : content,
  };
  return [
    ...(isSilent ? [] : [shown]),
    ...calls.map(({ id, name, arguments: args, mcp }) =>
      mcp === undefined
        ? functionCallItem(functionCallItemId(runId, id), 'completed', {
            callId: id,
            name,
            arguments: JSON.stringify(args),
          })
        : mcpCallItem(mcpCallItemId(runId, id), 'completed', mcp, JSON.stringify(args), {
            output: remote.get(id) ?? '',
          }),
    ),
  ];
}

function showText(type: string, text: string): JsonObject {
  return type === 'output_text' ? { type, text, annotations: [] } : { type, text };
}

function showAnswer(runId: string, item: JsonObject, index: number): OutputItem {
  if (item.type === 'function_call_output') return showResult(runId, String(item.call_id), String(item.output));
  return { ...item, id: inputItemId(runId, index), type: String(item.type) };
}

function showResult(runId: string, callId: string, output: string): OutputItem {
  return {
    id: functionCallOutputItemId(runId, callId),
    type: 'function_call_output',
    status: 'completed',
    call_id: callId,
    output,
  };
}
