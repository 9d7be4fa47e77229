/** What was put into a response, as items: what `GET …/input_items` lists, and references name. */
import type { InputMessage } from '../../../engine/index.ts';
import type { JsonObject } from '../../../tables.ts';
import { functionCallItemId, functionCallOutputItemId, inputItemId } from '../item-ids.ts';
import { functionCallItem, type OutputItem } from './response-items.ts';
import type { ResponseSegment } from './response-segment.ts';

/** In the order in which they were sent. */
export function listInputItems({ run, number, request }: ResponseSegment): OutputItem[] {
  if (number === 1) {
    return (run.input as unknown as InputMessage[]).flatMap((message, index) => showMessage(run.id, message, index));
  }
  // A pause that was answered by another way than a response has no items.
  return request.segment === number
    ? (request.answers ?? []).map((item, index) => showAnswer(run.id, item, index))
    : [];
}

function showMessage(runId: string, message: InputMessage, index: number): OutputItem[] {
  const { role, content, tool_calls: calls = [], tool_call_id: callId } = message;
  if (callId !== undefined) {
    const output = typeof content === 'string' ? content : JSON.stringify(content);
    return [showResult(runId, callId, output)];
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
    ...calls.map(({ id, name, arguments: args }) =>
      functionCallItem(functionCallItemId(runId, id), 'completed', {
        callId: id,
        name,
        arguments: JSON.stringify(args),
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
