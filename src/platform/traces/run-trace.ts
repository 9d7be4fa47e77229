/**
 * The trace of a run, from what is stored of it: the run is the root, each step a span below, and each approval one below
 * the call that waited for it. Nothing is written for it, so a run in progress shows what has been committed so far.
 */
import { createHash } from 'node:crypto';
import { withPrefix } from '../../kernel/ids/ids.ts';
import { isSettled, type RunRow, readTurnConfig } from '../engine/index.ts';
import { splitModelId } from '../models/index.ts';
import { FILE_SEARCH } from '../tools/file-search.ts';
import { MEMORY_TOOLS } from '../tools/memory-tools.ts';
import * as names from './conventions.ts';
import type { Span, SpanError, SpanKind, SpanUsage, Trace, TraceWithSpans } from './trace.ts';
import { w3cTraceIdOf } from './w3c-trace-id.ts';

/** What a list shows of a run's trace. */
export type TracedRun = Pick<
  RunRow,
  | 'id'
  | 'smith_id'
  | 'app_id'
  | 'status'
  | 'input_tokens'
  | 'output_tokens'
  | 'cost_micros'
  | 'created_at'
  | 'updated_at'
> & {
  readonly span_count: number;
};

export type StoredRun = Omit<TracedRun, 'span_count'> &
  Pick<
    RunRow,
    | 'project_id'
    | 'thread_id'
    | 'agent_id'
    | 'agent_version'
    | 'channel'
    | 'config'
    | 'stop_reason'
    | 'error'
    | 'attempt'
  > & {
    readonly steps: readonly StoredStep[];
    readonly approvals: readonly StoredApproval[];
  };

/** Times are ISO-8601, as JSON has them. */
export interface StoredStep {
  readonly position: number;
  readonly kind: 'model' | 'tool' | 'compaction' | 'mcp_list';
  readonly status: 'approval' | 'waiting' | 'ready' | 'started' | 'completed';
  readonly name: string;
  readonly call_id: string | null;
  readonly error: string | null;
  /** Of a model call. */
  readonly finish_reason: string | null;
  /** Passages that a search found. */
  readonly results: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_micros: number | null;
  readonly started_at: string;
  readonly finished_at: string | null;
}

export interface StoredApproval {
  readonly id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly status: 'pending' | 'approved' | 'rejected' | 'expired';
  readonly created_at: string;
  readonly resolved_at: string | null;
}

/** Of every run alike: agents have names, which change. */
const ROOT_NAME = 'invoke_agent';
const MAX_ERROR_CHARS = 1_000;

export function describeRunTrace(run: TracedRun): Trace {
  return {
    id: withPrefix('trc', run.id),
    runId: run.id,
    externalId: w3cTraceIdOf(run.id),
    smithId: run.smith_id,
    appId: run.app_id,
    name: ROOT_NAME,
    status: run.status,
    startedAt: run.created_at,
    endedAt: isSettled(run.status) ? run.updated_at : null,
    spanCount: run.span_count,
    totals: usageOf(run),
    createdAt: run.created_at,
  };
}

/** With its spans, in the order in which they began. */
export function buildRunTrace(run: StoredRun): TraceWithSpans {
  const spans = [rootSpan(run), ...run.steps.flatMap((step) => stepSpans(run, step))];
  return { ...describeRunTrace({ ...run, span_count: spans.length }), spans };
}

function rootSpan(run: StoredRun): Span {
  const { agent_id: agentId, agent_version: version, stop_reason: stopReason, error } = run;
  return {
    ...placed(run, 'turn', null, run.created_at, isSettled(run.status) ? run.updated_at : null),
    name: ROOT_NAME,
    kind: 'turn',
    attributes: {
      [names.OPERATION]: 'invoke_agent',
      ...names.modelAttributes(run.config.model),
      ...(agentId === null ? {} : { [names.AGENT_ID]: agentId }),
      ...(version === null ? {} : { [names.AGENT_VERSION]: version }),
      [names.CONVERSATION_ID]: run.thread_id,
      [names.PROJECT_ID]: run.project_id,
      [names.SMITH_ID]: run.smith_id,
      ...(run.app_id === null ? {} : { [names.APP_ID]: run.app_id }),
      [names.RUN_ID]: run.id,
      [names.CHANNEL]: run.channel,
      [names.ATTEMPT]: run.attempt,
      ...(stopReason === null ? {} : { [names.FINISH_REASONS]: [stopReason] }),
      ...usageAttributes(usageOf(run)),
      ...(error === null ? {} : { [names.ERROR_TYPE]: error.code }),
    },
    error: error === null ? null : { type: error.code, message: shorten(error.message) },
    usage: usageOf(run),
  };
}

function stepSpans(run: StoredRun, step: StoredStep): Span[] {
  if (step.kind === 'mcp_list') return [listSpan(run, step)];
  if (step.kind !== 'tool') return [modelSpan(run, step)];
  const span = toolSpan(run, step);
  const asked = run.approvals.filter(({ tool_call_id: callId }) => callId === step.call_id);
  return [span, ...asked.map((approval) => approvalSpan(run, span.spanId, approval))];
}

/** A model call, or the one that summarizes a thread's oldest turns. */
function modelSpan(run: StoredRun, step: StoredStep): Span {
  const { model } = splitModelId(step.name);
  const isCompaction = step.kind === 'compaction';
  const usage = usageOf(step);
  const error = failureOf(step, 'model_request_failed');
  return {
    ...stepPlace(run, step),
    name: `${isCompaction ? 'compaction' : 'chat'} ${model}`,
    kind: isCompaction ? 'memory' : 'model',
    attributes: {
      [names.OPERATION]: 'chat',
      ...names.modelAttributes(step.name),
      ...(step.finish_reason === null ? {} : { [names.FINISH_REASONS]: [step.finish_reason] }),
      ...usageAttributes(usage),
      ...(step.cached_input_tokens === 0 ? {} : { [names.CACHED_TOKENS]: step.cached_input_tokens }),
      ...(step.reasoning_tokens === 0 ? {} : { [names.REASONING_TOKENS]: step.reasoning_tokens }),
      ...(error === null ? {} : { [names.ERROR_TYPE]: error.type }),
    },
    error,
    usage,
  };
}

/** What an MCP server of the run's request listed. */
function listSpan(run: StoredRun, step: StoredStep): Span {
  return {
    ...stepPlace(run, step),
    name: `tools/list ${step.name}`,
    kind: 'tool',
    attributes: { [names.MCP_METHOD]: 'tools/list', [names.MCP_SERVER]: step.name },
    error: null,
    usage: null,
  };
}

function toolSpan(run: StoredRun, step: StoredStep): Span {
  const config = readTurnConfig(run.config);
  const isClients = config.settings.tools.client.some(({ name }) => name === step.name);
  const kind = isClients ? 'tool' : kindOfTool(step.name);
  const stores = config.file_search?.vector_store_ids ?? [];
  const error = failureOf(step, 'tool_failed') ?? unansweredOf(run, step);
  return {
    ...stepPlace(run, step),
    name: `${kind === 'retrieval' ? 'retrieval' : 'execute_tool'} ${step.name}`,
    kind,
    attributes: {
      [names.OPERATION]: kind === 'retrieval' ? 'retrieval' : 'execute_tool',
      [names.TOOL_NAME]: step.name,
      ...(step.call_id === null ? {} : { [names.TOOL_CALL_ID]: step.call_id }),
      [names.TOOL_TYPE]: isClients ? 'function' : kind === 'tool' ? 'extension' : 'datastore',
      ...(kind === 'retrieval' && stores.length > 0 ? { [names.DATA_SOURCE_ID]: stores.join(',') } : {}),
      ...(kind === 'retrieval' && step.results !== null ? { [names.RESULTS]: step.results } : {}),
      ...(error === null ? {} : { [names.ERROR_TYPE]: error.type }),
    },
    error,
    usage: null,
  };
}

function kindOfTool(name: string): SpanKind {
  if (name === FILE_SEARCH) return 'retrieval';
  return MEMORY_TOOLS.has(name) ? 'memory' : 'tool';
}

function approvalSpan(run: StoredRun, parentSpanId: string, approval: StoredApproval): Span {
  const { id, tool, status, created_at: createdAt, resolved_at: resolvedAt } = approval;
  return {
    ...placed(run, id, parentSpanId, new Date(createdAt), resolvedAt === null ? null : new Date(resolvedAt)),
    name: `approval ${tool}`,
    kind: 'approval',
    attributes: {
      [names.TOOL_NAME]: tool,
      [names.APPROVAL_ID]: id,
      ...(status === 'pending' ? {} : { [names.APPROVAL_DECISION]: status }),
    },
    error: null,
    usage: null,
  };
}

/** A step of a run that has ended has ended too, whether it was answered or not. */
function stepPlace(run: StoredRun, step: StoredStep) {
  const finishedAt = step.finished_at === null ? null : new Date(step.finished_at);
  const endedAt = finishedAt ?? (isSettled(run.status) ? run.updated_at : null);
  return placed(run, `step/${step.position}`, spanIdOf(run.id, 'turn'), new Date(step.started_at), endedAt);
}

/** The clocks of the store and of the replicas differ a little: nothing ends before it began. */
function placed(run: StoredRun, part: string, parentSpanId: string | null, startedAt: Date, end: Date | null) {
  const endedAt = end !== null && end < startedAt ? startedAt : end;
  return {
    spanId: spanIdOf(run.id, part),
    parentSpanId,
    startedAt,
    endedAt,
    durationMs: endedAt === null ? null : endedAt.getTime() - startedAt.getTime(),
  };
}

/** 16 hexadecimal digits, the same every time. */
function spanIdOf(runId: string, part: string): string {
  return createHash('sha256').update(`${runId}/${part}`).digest('hex').slice(0, 16);
}

function failureOf({ error }: StoredStep, type: string): SpanError | null {
  return error === null ? null : { type, message: shorten(error) };
}

function unansweredOf(run: StoredRun, { finished_at: finishedAt }: StoredStep): SpanError | null {
  if (finishedAt !== null || !isSettled(run.status)) return null;
  return { type: 'cancelled', message: 'The turn ended before this call was answered.' };
}

function shorten(text: string): string {
  return text.slice(0, MAX_ERROR_CHARS).toWellFormed();
}

function usageOf({ input_tokens, output_tokens, cost_micros }: SpanUsage): SpanUsage {
  return { input_tokens, output_tokens, cost_micros };
}

function usageAttributes({ input_tokens, output_tokens, cost_micros }: SpanUsage): Record<string, number> {
  return {
    [names.INPUT_TOKENS]: input_tokens,
    [names.OUTPUT_TOKENS]: output_tokens,
    ...(cost_micros === null ? {} : { [names.COST]: cost_micros / 1_000_000 }),
  };
}
