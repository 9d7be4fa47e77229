/** The rows, frames and outputs that steps leave behind. */

import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { estimatePromptTokens, priceUsage } from '../../models/index.ts';
import type { JsonObject } from '../../tables.ts';
import { FILE_SEARCH, findCitations } from '../../tools/file-search.ts';
import type { ResultPart } from '../../tools/tool.ts';
import { storedFilePart } from '../input/attached-files.ts';
import type { ApprovalRequest, StepRecord, TurnAdvance } from '../store/advance-turn.ts';
import type { UsedByRun } from '../store/run-row.ts';
import type { NewFrame } from '../timeline/frames.ts';
import { isWaiting, type StoredMessage, type ToolStep } from '../turn.ts';
import type { StepUsage } from './collect-answer.ts';
import type { TurnState } from './turn-state.ts';

/** A finished model call; `finish` says how it ended. Its cost is fixed here, once. */
export function modelRecord(
  state: TurnState,
  call: { readonly startedAt?: string; readonly usage: StepUsage; readonly finish: string },
): StepRecord {
  const { model } = state.config;
  return {
    position: state.nextPosition++,
    kind: 'model',
    status: 'completed',
    name: model,
    output: { finish_reason: call.finish },
    input_tokens: call.usage.inputTokens,
    cached_input_tokens: Math.min(call.usage.cachedInputTokens ?? 0, call.usage.inputTokens),
    output_tokens: call.usage.outputTokens,
    reasoning_tokens: Math.min(call.usage.reasoningTokens ?? 0, call.usage.outputTokens),
    cost_micros: priceUsage(model, call.usage),
    ...(call.startedAt === undefined ? {} : { started_at: call.startedAt }),
    finished_at: systemClock.now().toISOString(),
  };
}

/** What the step adds to the run's usage. */
export function billed(record: StepRecord): BilledUsage {
  return {
    inputTokens: record.input_tokens ?? 0,
    cachedInputTokens: record.cached_input_tokens ?? 0,
    outputTokens: record.output_tokens ?? 0,
    reasoningTokens: record.reasoning_tokens ?? 0,
    costMicros: record.cost_micros ?? null,
  };
}

type BilledUsage = Pick<
  TurnAdvance,
  'inputTokens' | 'cachedInputTokens' | 'outputTokens' | 'reasoningTokens' | 'costMicros'
>;

/** What the turn has used once a commit is made. */
export function addBilled(used: UsedByRun, commit: BilledUsage): UsedByRun {
  const { costMicros } = commit;
  return {
    input_tokens: used.input_tokens + (commit.inputTokens ?? 0),
    cached_input_tokens: used.cached_input_tokens + (commit.cachedInputTokens ?? 0),
    output_tokens: used.output_tokens + (commit.outputTokens ?? 0),
    reasoning_tokens: used.reasoning_tokens + (commit.reasoningTokens ?? 0),
    cost_micros: costMicros == null ? used.cost_micros : (used.cost_micros ?? 0) + costMicros,
  };
}

export function toolRecord(step: ToolStep): StepRecord {
  return {
    position: step.position,
    kind: 'tool',
    status: step.status,
    name: step.name,
    call_id: step.callId,
    input: step.input,
    output: step.output,
    error: step.error,
    target: step.target ?? null,
    finished_at: step.status === 'completed' ? systemClock.now().toISOString() : null,
  };
}

/** The turn's next message. */
export function newMessage(
  state: TurnState,
  turn: number,
  role: StoredMessage['role'],
  content: StoredMessage['content'],
): StoredMessage {
  const message = { role, content } as never;
  return { turn, position: state.nextMessage++, role, content, tokens: estimatePromptTokens([message]) };
}

/** A call's result as the model is told of it. */
export function resultMessage(
  state: TurnState,
  turn: number,
  step: ToolStep,
  forModel?: string | readonly ResultPart[],
): StoredMessage {
  const output = resultForModel(step, forModel);
  return newMessage(state, turn, 'tool', [
    { type: 'tool-result', toolCallId: step.callId, toolName: step.name, output },
  ]);
}

function resultForModel(
  { error, output }: ToolStep,
  forModel: string | readonly ResultPart[] | undefined,
): LanguageModelV4ToolResultOutput {
  if (error !== null) return { type: 'error-text', value: error };
  if (forModel === undefined) return { type: 'json', value: (output ?? {}) as never };
  if (typeof forModel === 'string') return { type: 'text', value: forModel };
  const value = forModel.map((part) => (part.type === 'text' ? part : storedFilePart(part)));
  return { type: 'content', value: value as never };
}

/** A person is to decide on the call, or, where it asks something, to answer. */
export function approvalRequest({ approvalId, callId, name, input, question }: ToolStep): ApprovalRequest[] {
  if (approvalId === undefined) return [];
  const request = { id: approvalId, tool_call_id: callId, tool: name, args: input };
  if (question === undefined) return [request];
  const { message, requestedSchema } = question;
  return [{ ...request, elicitation: { message, requested_schema: requestedSchema } }];
}

export function approvalFrame({ id, tool_call_id, tool, args, elicitation }: ApprovalRequest): NewFrame {
  const asked = elicitation === undefined ? {} : { elicitation };
  return { type: 'approval.required', data: { approval_id: id, tool_call_id, tool, args, ...asked } };
}

export function executingFrame(step: ToolStep): NewFrame {
  const data = { tool: step.name, tool_call_id: step.callId, args: step.input, ...describeServer(step) };
  return { type: 'tool.executing', data };
}

export function completedFrame(step: ToolStep): NewFrame {
  const output = step.error === null ? step.output : { error: step.error };
  const data = { tool: step.name, tool_call_id: step.callId, output, ...describeServer(step) };
  return { type: 'tool.completed', data };
}

/** Of a call whose target names the MCP server and its tool there: both, and the approval that the call was made under. */
function describeServer({ target, approvalId, question }: ToolStep): JsonObject {
  const { server_label, tool_name } = target ?? {};
  if (typeof server_label !== 'string' || typeof tool_name !== 'string') return {};
  const approved = approvalId === undefined || question !== undefined ? {} : { approval_id: approvalId };
  return { mcp: { server_label, name: tool_name, ...approved } };
}

/** Frames as the feed has them: without what is for those alone who follow the run. */
export function forFeed(frames: readonly NewFrame[]): NewFrame[] {
  return frames.map((frame) => {
    if (!('mcp' in frame.data)) return frame;
    const { mcp: _, ...data } = frame.data;
    return { ...frame, data };
  });
}

/** An approval that nobody will decide any more. */
export function expiryFrame(approvalId: string): NewFrame {
  return {
    type: 'approval.resolved',
    data: { approval_id: approvalId, decision: 'expired', actor: null, content: null },
  };
}

/** The run's `output`. */
export function renderOutput(state: TurnState, text: string): JsonObject {
  const isJson = state.config.settings.answer.format.type === 'json';
  const searches = state.calls.filter(({ name }) => name === FILE_SEARCH).map(({ output }) => output);
  const annotations = findCitations(text, searches);
  return {
    content: text,
    content_type: isJson ? 'application/json' : 'text/plain',
    tool_calls: state.calls.map(renderCall),
    suggested_replies: [],
    ...(annotations.length === 0 ? {} : { annotations }),
  };
}

/** The output of a turn that has ended: nobody will answer what was still open. */
export function closeCalls(output: JsonObject): JsonObject {
  const calls = Array.isArray(output.tool_calls) ? (output.tool_calls as JsonObject[]) : [];
  return {
    ...output,
    tool_calls: calls.map((call) => (OPEN_STATUSES.has(call.status) ? { ...call, status: 'cancelled' } : call)),
  };
}

const OPEN_STATUSES: ReadonlySet<unknown> = new Set([
  'requires_approval',
  'requires_result',
  'requires_connection',
  'executing',
]);

/** What `run.paused` says: what the turn waits for. */
export function describePause(openCalls: readonly ToolStep[]): JsonObject {
  const waiting = openCalls.filter(isWaiting);
  const has = (status: ToolStep['status']) => waiting.some((call) => call.status === status);
  const reason = has('approval') ? 'approval' : has('connection') ? 'connection_required' : 'tool_result';
  return { reason, tool_calls: waiting.map(describeWaiting) };
}

function describeWaiting(step: ToolStep): JsonObject {
  const { question } = step;
  const asked =
    question === undefined
      ? {}
      : { elicitation: { message: question.message, requested_schema: question.requestedSchema } };
  return { ...renderCall(step), ...asked, ...describeServer(step) };
}

/** A call as outputs and `run.paused` show it. */
export function renderCall(step: ToolStep): JsonObject {
  return {
    id: step.callId,
    name: step.name,
    arguments: step.input,
    status: callStatus(step),
    ...(step.approvalId === undefined ? {} : { approval_id: step.approvalId }),
    ...(step.connection === undefined || step.status !== 'connection' ? {} : { connection: step.connection }),
  };
}

function callStatus({ status, error }: ToolStep): string {
  switch (status) {
    case 'approval':
      return 'requires_approval';
    case 'waiting':
      return 'requires_result';
    case 'connection':
      return 'requires_connection';
    case 'ready':
    case 'started':
      return 'executing';
    case 'completed':
      return error === null ? 'completed' : 'failed';
  }
}
