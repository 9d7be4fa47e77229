/**
 * Items that a client adds, as messages of the thread. What an assistant thought goes into one message with what it said
 * or called next, as it stands where a model answered.
 */

import { ApiError } from '../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../kernel/http/json-body.ts';
import { parseInput } from '../../engine/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { NewMessageRow } from '../../threads/index.ts';

const MAX_CALL_ID_LENGTH = 256;
const MAX_NAME_LENGTH = 256;

/** A message that items became, with the index of the first of them. */
export interface NewItemMessage {
  readonly item: number;
  readonly role: NewMessageRow['role'];
  readonly content: readonly JsonObject[] | string;
}

/** Throws `invalid_input`, which names the item at fault as `items.<index>`. */
export function readNewItems(items: readonly JsonObject[]): NewItemMessage[] {
  const messages: NewItemMessage[] = [];
  items.forEach((item, index) => {
    const { role, content } = readItem(item, `items.${index}`);
    const before = messages.at(-1);
    const thought = before?.role === 'assistant' && typeof before.content !== 'string' ? before.content : [];
    const goesOn = role === 'assistant' && typeof content !== 'string' && item.type !== 'reasoning';
    if (before !== undefined && goesOn && thought.length === 1 && thought[0]?.type === 'reasoning') {
      messages[messages.length - 1] = { ...before, content: [...thought, ...content] };
    } else messages.push({ item: index, role, content });
  });
  return messages;
}

function readItem(item: JsonObject, param: string): Pick<NewItemMessage, 'role' | 'content'> {
  switch (item.type ?? 'message') {
    case 'message':
      return readMessage(item, param);
    case 'reasoning':
      return { role: 'assistant', content: [{ type: 'reasoning', text: readThought(item, param) }] };
    case 'function_call': {
      const toolCallId = readCallId(item, param);
      const toolName = readText(item.name, `${param}.name`, MAX_NAME_LENGTH);
      const input = readArguments(item.arguments, `${param}.arguments`);
      return { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input }] };
    }
    case 'function_call_output': {
      const toolCallId = readCallId(item, param);
      const output = { type: 'text', value: readOutput(item.output, `${param}.output`) };
      // Its tool is that of the call.
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: '', output }] };
    }
    default:
      throw invalid(`${param}.type`, 'must be message, function_call, function_call_output or reasoning');
  }
}

function readMessage(item: JsonObject, param: string): Pick<NewItemMessage, 'role' | 'content'> {
  const role = readText(item.role, `${param}.role`, MAX_NAME_LENGTH);
  if (typeof item.content !== 'string' && !Array.isArray(item.content)) {
    throw invalid(`${param}.content`, 'must be a string or an array of parts');
  }
  if (!['user', 'assistant', 'system', 'developer'].includes(role)) {
    throw invalid(`${param}.role`, 'must be user, assistant, system or developer');
  }
  const content = typeof item.content === 'string' ? item.content : item.content.map(asInputPart);
  try {
    const [message] = parseInput([{ role, content }]);
    if (message === undefined) throw invalid(param, 'holds no message');
    return { role: message.role, content: message.content as unknown as JsonObject[] | string };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const rename = (text: string) => text.replaceAll(/\binput\.0\b/g, param);
    throw new ApiError(error.code, { message: rename(error.message), param: rename(error.detail.param ?? param) });
  }
}

/** What models refused and thought is text like any other, to the next one. */
function asInputPart(part: unknown): JsonObject {
  const { type, refusal, text } = (part ?? {}) as JsonObject;
  if (type === 'refusal') return { type: 'text', text: refusal };
  if (type === 'summary_text' || type === 'reasoning_text') return { type: 'text', text };
  return (part ?? {}) as JsonObject;
}

function readThought(item: JsonObject, param: string): string {
  const parts = [item.summary, item.content].flatMap((list) => (Array.isArray(list) ? list : []));
  return parts
    .map((part, index) => {
      const { text } = (part ?? {}) as JsonObject;
      if (typeof text !== 'string') throw invalid(`${param}.summary.${index}.text`, 'must be a string');
      return text;
    })
    .join('\n\n');
}

function readArguments(value: unknown, param: string): JsonObject {
  try {
    const parsed: unknown = typeof value === 'string' ? parseJsonText(value === '' ? '{}' : value) : undefined;
    if (parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed)) return parsed as JsonObject;
  } catch {
    // Told below.
  }
  throw invalid(param, 'must be a string with a JSON object');
}

function readOutput(output: unknown, param: string): string {
  if (typeof output === 'string') return output;
  if (!Array.isArray(output)) throw invalid(param, 'must be a string or an array of parts');
  const texts = output.map((part) => ((part ?? {}) as JsonObject).text);
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : JSON.stringify(output);
}

function readCallId(item: JsonObject, param: string): string {
  return readText(item.call_id, `${param}.call_id`, MAX_CALL_ID_LENGTH);
}

function readText(value: unknown, param: string, maxLength: number): string {
  if (typeof value === 'string' && value !== '' && value.length <= maxLength) return value;
  throw invalid(param, `must be a string of 1 to ${maxLength} characters`);
}

export function invalid(param: string, problem: string): ApiError {
  return new ApiError('invalid_input', { param, message: `\`${param}\` ${problem}.` });
}
