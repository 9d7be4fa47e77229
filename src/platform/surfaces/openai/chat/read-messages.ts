/** The `messages` of a chat completion: what the turn is told, what the model is shown, what a paused run waits for. */

import { ApiError } from '../../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../../kernel/http/json-body.ts';
import type { InputMessage, PastCall } from '../../../engine/index.ts';
import type { JsonObject } from '../../../tables.ts';

export interface ChatInput {
  /** System and developer messages at the beginning: they hold for this turn. Empty where there are none. */
  readonly instructions: string;
  /** All the others. */
  readonly messages: readonly InputMessage[];
  /** How many of the request's messages come before these. */
  readonly offset: number;
  /** Set where the messages end with results of tools. */
  readonly results: ToolResults | undefined;
}

export interface ToolResults {
  /** What the assistant called, as the message before the results has it; undefined without such a message. */
  readonly calls: readonly PastCall[] | undefined;
  readonly results: readonly ToolResult[];
}

export interface ToolResult {
  readonly callId: string;
  readonly text: string;
  /** Where it stands: `messages.4`. */
  readonly at: string;
}

/** Throws `invalid_input` naming the message at fault. What parts may hold is the engine's to say (parse-input.ts). */
export function readMessages(given: readonly unknown[]): ChatInput {
  const messages = given.map((message, index) => readMessage(message, `messages.${index}`));
  const head = messages.findIndex(({ role }) => !isSystem(role));
  // Nothing but instructions: they are the question.
  const offset = Math.max(head, 0);
  const rest = messages.slice(offset);
  for (const [index, message] of messages.entries()) requireResults(messages, message, index);
  return {
    instructions: messages
      .slice(0, offset)
      .map((message, index) => textOf(message.content, `messages.${index}`))
      .join('\n\n'),
    messages: rest,
    offset,
    results: readResults(messages),
  };
}

/** An error about the engine's `input` as one about the request's `messages`. */
export function nameMessage(error: unknown, offset: number): unknown {
  if (!(error instanceof ApiError) || error.detail.param?.startsWith('input') !== true) return error;
  const rename = (text: string) =>
    text.replace(/^(`?)input(?:\.(\d+))?/, (_, quote: string, index: string | undefined) =>
      index === undefined ? `${quote}messages` : `${quote}messages.${Number(index) + offset}`,
    );
  return new ApiError(error.code, {
    ...error.detail,
    param: rename(error.detail.param),
    message: rename(error.message),
  });
}

function readMessage(message: unknown, at: string): InputMessage {
  if (!isObject(message)) throw invalid(at, 'must be an object with a role');
  const { role, content } = message;
  if (typeof role !== 'string') throw invalid(`${at}.role`, 'must be a string');
  switch (role) {
    case 'assistant':
      return readAssistant(message, at);
    case 'tool': {
      if (typeof message.tool_call_id !== 'string') throw invalid(`${at}.tool_call_id`, 'must name the call');
      return { role, content: textOf(content, at), tool_call_id: message.tool_call_id };
    }
    case 'system':
    case 'developer':
    case 'user':
      return { role, content: readContent(content, at) };
    default:
      throw invalid(`${at}.role`, 'must be system, developer, user, assistant or tool');
  }
}

/** What it said may be missing beside calls; a refusal is what it said. */
function readAssistant({ content, refusal, tool_calls: calls }: JsonObject, at: string): InputMessage {
  const said = typeof refusal === 'string' && (content == null || content === '') ? refusal : (content ?? '');
  const text = textOf(said, at);
  if (calls == null) return { role: 'assistant', content: text };
  if (!Array.isArray(calls)) throw invalid(`${at}.tool_calls`, 'must be a list');
  const read = (calls as unknown[]).map((call, index) => readCall(call, `${at}.tool_calls.${index}`));
  return { role: 'assistant', content: text, ...(read.length === 0 ? {} : { tool_calls: read }) };
}

function readCall(call: unknown, at: string): PastCall {
  if (!isObject(call) || !isObject(call.function)) throw invalid(at, 'must be a call of a function');
  const { name, arguments: args } = call.function;
  if (typeof call.id !== 'string' || call.id === '') throw invalid(`${at}.id`, 'must be a string');
  if (typeof name !== 'string' || name === '') throw invalid(`${at}.function.name`, 'must be a string');
  return { id: call.id, name, arguments: readArguments(args, `${at}.function.arguments`) };
}

function readArguments(args: unknown, at: string): JsonObject {
  if (args == null || args === '') return {};
  if (typeof args !== 'string') throw invalid(at, 'must be JSON text');
  try {
    const value: unknown = parseJsonText(args);
    if (isObject(value)) return value;
  } catch {
    // Refused below.
  }
  throw invalid(at, 'must be the JSON text of an object');
}

function readContent(content: unknown, at: string): InputMessage['content'] {
  if (typeof content === 'string') return content;
  if (Array.isArray(content) && content.every(isObject)) return content;
  throw invalid(`${at}.content`, 'must be a string or a list of parts');
}

function textOf(content: unknown, at: string): string {
  const read = readContent(content, at);
  if (typeof read === 'string') return read;
  return read
    .map((part, index) => {
      const text = part.type === 'refusal' ? part.refusal : part.text;
      if (typeof text !== 'string') throw invalid(`${at}.content.${index}`, 'must be a part with text');
      return text;
    })
    .join('');
}

/** Every call is followed by its result: models take nothing else. */
function requireResults(messages: readonly InputMessage[], message: InputMessage, index: number): void {
  if (message.tool_calls === undefined) return;
  const answered = new Set(resultsAfter(messages, index).map(({ tool_call_id: id }) => id));
  const missing = message.tool_calls.filter(({ id }) => !answered.has(id)).map(({ id }) => id);
  if (missing.length === 0) return;
  throw invalid(
    `messages.${index}.tool_calls`,
    `must be followed by a message with the role tool for each call; missing: ${missing.join(', ')}`,
  );
}

function resultsAfter(messages: readonly InputMessage[], index: number): readonly InputMessage[] {
  const after = messages.slice(index + 1);
  const end = after.findIndex(({ role }) => role !== 'tool');
  return end < 0 ? after : after.slice(0, end);
}

function readResults(messages: readonly InputMessage[]): ToolResults | undefined {
  const before = messages.findLastIndex(({ role }) => role !== 'tool');
  const last = messages.slice(before + 1);
  if (last.length === 0) return undefined;
  const calls = messages[before]?.tool_calls;
  const seen = new Set<string>();
  const results = last.map(({ tool_call_id: callId = '', content }, index): ToolResult => {
    const at = `messages.${before + 1 + index}`;
    if (seen.has(callId)) throw invalid(`${at}.tool_call_id`, `answers ${callId} a second time`);
    seen.add(callId);
    if (calls !== undefined && !calls.some(({ id }) => id === callId)) throw answersNothing(at, callId);
    return { callId, text: String(content), at };
  });
  return { calls, results };
}

/** A result of a call that nobody made. */
export function answersNothing(at: string, callId: string): ApiError {
  return invalid(`${at}.tool_call_id`, `answers a call that was never made: ${callId}`);
}

export function invalid(param: string, problem: string): ApiError {
  return new ApiError('invalid_input', { param, message: `\`${param}\` ${problem}.` });
}

function isSystem(role: string): boolean {
  return role === 'system' || role === 'developer';
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
