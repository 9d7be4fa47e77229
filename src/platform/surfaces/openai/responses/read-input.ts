/**
 * The input of a response, item by item. What only repeats what this server has said (reasoning, searches, requests for
 * approvals) is left out: the run has it. Calls of MCP servers' tools are kept, as what the model did; so are the lists of
 * their tools, which spare the servers the question.
 */

import { createHash } from 'node:crypto';
import { ApiError } from '../../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../../kernel/http/json-body.ts';
import type { InputMessage, PastCall } from '../../../engine/index.ts';
import type { JsonObject } from '../../../tables.ts';
import { toolNameFor } from '../../../tools/tool-names.ts';
import type { BroughtList } from '../request-servers.ts';

const MAX_INPUT_ITEMS = 1_000;

export type InputItem = { readonly index: number } & (
  | { readonly kind: 'message'; readonly message: InputMessage }
  | { readonly kind: 'call'; readonly call: PastCall }
  | { readonly kind: 'result'; readonly callId: string; readonly text: string }
  | {
      readonly kind: 'decision';
      readonly approvalId: string;
      readonly approve: boolean;
      readonly reason: string | null;
      /** What the person entered, where something was asked. */
      readonly content: JsonObject | null;
    }
  | { readonly kind: 'reference'; readonly id: string }
  /** A call that this server made, or another; `result`: undefined where the client has left it out. */
  | {
      readonly kind: 'remote_call';
      readonly itemId: string;
      readonly call: PastCall;
      readonly result: string | undefined;
    }
  | { readonly kind: 'tool_list'; readonly list: BroughtList }
);

/** Items that this server makes and knows. */
const OWN_ITEMS: ReadonlySet<unknown> = new Set(['reasoning', 'file_search_call', 'mcp_approval_request']);

/** Throws `invalid_input` naming the item at fault, `too_many_inputs` beyond MAX_INPUT_ITEMS. */
export function readInput(input: string | readonly JsonObject[]): InputItem[] {
  if (typeof input === 'string') {
    return [{ index: 0, kind: 'message', message: { role: 'user', content: input } }];
  }
  if (input.length > MAX_INPUT_ITEMS) {
    throw new ApiError('too_many_inputs', { param: 'input', message: `At most ${MAX_INPUT_ITEMS} items a response.` });
  }
  const read = input.flatMap((item, index) => (OWN_ITEMS.has(item.type) ? [] : [readItem(item, index)]));
  return tellCallsApart(read.filter((item) => item.kind !== 'tool_list' || item.list.tools.length > 0));
}

function readItem(item: JsonObject, index: number): InputItem {
  const at = `input.${index}`;
  switch (item.type ?? 'message') {
    case 'message':
      return { index, kind: 'message', message: readMessage(item, at) };
    case 'function_call':
      return { index, kind: 'call', call: readCall(item, at) };
    case 'function_call_output':
      return { index, kind: 'result', callId: stringAt(item.call_id, `${at}.call_id`), text: readOutput(item, at) };
    case 'item_reference':
      return { index, kind: 'reference', id: stringAt(item.id, `${at}.id`) };
    case 'mcp_approval_response': {
      if (typeof item.approve !== 'boolean') throw invalid(`${at}.approve`, 'must be true or false');
      const approvalId = stringAt(item.approval_request_id, `${at}.approval_request_id`);
      const reason = item.reason == null ? null : stringAt(item.reason, `${at}.reason`);
      if (item.content != null && !isObject(item.content)) throw invalid(`${at}.content`, 'must be an object');
      return { index, kind: 'decision', approvalId, approve: item.approve, reason, content: item.content ?? null };
    }
    case 'mcp_call':
      return readRemoteCall(item, index);
    case 'mcp_list_tools':
      return { index, kind: 'tool_list', list: readList(item, at) };
    default:
      throw invalid(
        `${at}.type`,
        'must be message, function_call, function_call_output, mcp_approval_response or item_reference',
      );
  }
}

function readMessage({ role, content }: JsonObject, at: string): InputMessage {
  const known = stringAt(role, `${at}.role`);
  if (typeof content === 'string') return { role: known, content };
  if (!Array.isArray(content)) throw invalid(`${at}.content`, 'must be a string or a list of parts');
  // A refusal is among the things an assistant has said.
  const parts = (content as unknown[]).map((part, index) => {
    if (!isObject(part)) throw invalid(`${at}.content.${index}`, 'must be an object with a type');
    return part.type === 'refusal' ? { type: 'output_text', text: part.refusal } : part;
  });
  return { role: known, content: parts };
}

function readCall(item: JsonObject, at: string): PastCall {
  const text = typeof item.arguments === 'string' && item.arguments.trim() !== '' ? item.arguments : '{}';
  let args: unknown;
  try {
    args = parseJsonText(text);
  } catch {
    args = undefined;
  }
  if (!isObject(args)) throw invalid(`${at}.arguments`, 'must be a JSON object as text');
  return {
    id: stringAt(item.call_id, `${at}.call_id`),
    name: stringAt(item.name, `${at}.name`),
    arguments: args,
  };
}

/** What providers take as the id of a call. */
const CALL_ID = /^[A-Za-z0-9_-]{1,64}$/;

function readRemoteCall(item: JsonObject, index: number): InputItem {
  const at = `input.${index}`;
  const itemId = item.id == null ? '' : stringAt(item.id, `${at}.id`);
  const server_label = stringAt(item.server_label, `${at}.server_label`);
  const name = stringAt(item.name, `${at}.name`);
  const id = CALL_ID.test(itemId) ? itemId : `mcp_${digest(`${index} ${itemId}`)}`;
  const { arguments: args } = readCall({ ...item, call_id: id }, at);
  const call = { id, name: toolNameFor(server_label, name, () => false), arguments: args, mcp: { server_label, name } };
  return { index, kind: 'remote_call', itemId, call, result: readRemoteResult(item, at) };
}

/** Undefined: the item has none. An error is text, or an object with its words. */
function readRemoteResult({ output, error }: JsonObject, at: string): string | undefined {
  if (output != null) return stringAt(output, `${at}.output`);
  if (error == null) return undefined;
  if (!isObject(error)) return `Error: ${stringAt(error, `${at}.error`)}`;
  return `Error: ${typeof error.message === 'string' ? error.message : JSON.stringify(error)}`;
}

/** One that failed has no tools. */
function readList({ id, server_label, tools, error }: JsonObject, at: string): BroughtList {
  const label = stringAt(server_label, `${at}.server_label`);
  if (error != null || tools == null) return { at, id: String(id ?? ''), label, tools: [] };
  if (!Array.isArray(tools) || !(tools as unknown[]).every(isObject))
    throw invalid(`${at}.tools`, 'must be a list of tools');
  return { at, id: String(id ?? ''), label, tools: tools as JsonObject[] };
}

/** Clients may name several calls alike; a prompt may not. */
function tellCallsApart(items: readonly InputItem[]): InputItem[] {
  const ids = new Set(items.flatMap((item) => (item.kind === 'call' ? [item.call.id] : [])));
  return items.map((item) => {
    if (item.kind !== 'remote_call') return item;
    const { id } = item.call;
    const own = ids.has(id) ? `mcp_${digest(`${item.index} ${id}`)}` : id;
    ids.add(own);
    return own === id ? item : { ...item, call: { ...item.call, id: own } };
  });
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Text, or a list of parts whose texts are put together. */
function readOutput({ output }: JsonObject, at: string): string {
  if (typeof output === 'string') return output;
  if (!Array.isArray(output)) throw invalid(`${at}.output`, 'must be a string or a list of text parts');
  return (output as JsonObject[]).map((part, index) => stringAt(part?.text, `${at}.output.${index}.text`)).join('\n');
}

/**
 * Messages as a turn takes them: calls made together stand in one message, with what was said before them. `places` has
 * the item that each message begins with.
 */
export function toMessages(items: readonly InputItem[]): { messages: InputMessage[]; places: number[] } {
  const messages: InputMessage[] = [];
  const places: number[] = [];
  for (const item of items) {
    const last = messages.at(-1);
    if ((item.kind === 'call' || item.kind === 'remote_call') && last?.role === 'assistant') {
      messages[messages.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), item.call] };
      if (item.kind === 'remote_call') add(item, resultOf(item));
      continue;
    }
    const message = toMessage(item);
    if (message === undefined) continue;
    add(item, message);
    if (item.kind === 'remote_call') add(item, resultOf(item));
  }
  return { messages, places };

  function add({ index }: InputItem, message: InputMessage): void {
    messages.push(message);
    places.push(index);
  }
}

function resultOf({ call, result }: Extract<InputItem, { kind: 'remote_call' }>): InputMessage {
  return { role: 'tool', content: result ?? 'What the call gave is not known any more.', tool_call_id: call.id };
}

function toMessage(item: InputItem): InputMessage | undefined {
  switch (item.kind) {
    case 'message':
      return item.message;
    case 'call':
    case 'remote_call':
      return { role: 'assistant', content: '', tool_calls: [item.call] };
    case 'result':
      return { role: 'tool', content: item.text, tool_call_id: item.callId };
    default:
      return undefined;
  }
}

/** The error with `input.N` naming the item instead of the message. */
export function placeError(error: unknown, places: readonly number[]): unknown {
  if (!(error instanceof ApiError) || error.detail.param === undefined) return error;
  const { param, message } = error.detail;
  const [found, index] = /^input\.(\d+)/.exec(param) ?? [];
  const place = places[Number(index)];
  if (found === undefined || place === undefined) return error;
  return new ApiError(error.code, {
    ...error.detail,
    param: param.replace(found, `input.${place}`),
    ...(message === undefined ? {} : { message: message.replace(found, `input.${place}`) }),
  });
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function stringAt(value: unknown, at: string): string {
  if (typeof value !== 'string') throw invalid(at, 'must be a string');
  return value;
}

export function invalid(param: string, problem: string): ApiError {
  return new ApiError('invalid_input', { param, message: `\`${param}\` ${problem}.` });
}
