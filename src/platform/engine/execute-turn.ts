/**
 * Runs a turn from where it is to where it rests. The same loop starts and resumes: it looks at what is open (tool calls
 * to run, calls that wait for somebody, or nothing) and does the next step. See turn.ts for the states.
 */

import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import {
  estimatePromptTokens,
  estimateTokens,
  ModelCallError,
  type ModelCallLimits,
  priceUsage,
} from '../models/index.ts';
import type { Actor, JsonObject } from '../tables.ts';
import type { Tool, ToolOutcome } from '../tools/tool.ts';
import { type ApprovalRequest, advanceTurn, type StepRecord, type TurnAdvance } from './advance-turn.ts';
import { buildPrompt } from './build-prompt.ts';
import { compileAnswerSchema, describeViolation } from './compile-answer-schema.ts';
import {
  callModelStep,
  estimateUsage,
  functionTools,
  type ModelAnswer,
  type RequestedCall,
  type StepUsage,
} from './call-model-step.ts';
import { cutLargestTexts, fitHistory, SUMMARY_SHARE } from './fit-history.ts';
import type { LiveTurn, NewFrame } from './live-turn.ts';
import { type RunRow, renderUsage } from './run-row.ts';
import { summarizeThread } from './summarize-thread.ts';
import {
  LeaseLostError,
  MAX_STEPS,
  type RunFailure,
  type RunStatus,
  type StoredMessage,
  type ThreadHistory,
  type ToolStep,
  type TurnConfig,
  type Warning,
} from './turn.ts';

/** Why an execution was stopped from outside. */
export type StopReason = 'cancelled' | 'detached';

export class TurnStopped extends Error {
  readonly reason: StopReason;
  constructor(reason: StopReason) {
    super(`The turn was ${reason}`);
    this.name = 'TurnStopped';
    this.reason = reason;
  }
}

/** Where an execution begins: fresh, or as the last attempt left it. */
export interface TurnState {
  readonly config: TurnConfig;
  readonly actor: Actor | null;
  readonly contextWindow: number;
  readonly maxOutputTokens: number | undefined;
  history: ThreadHistory;
  /** Tool calls that have no result yet. */
  openCalls: ToolStep[];
  /** Every call of the turn so far, for the output. */
  readonly calls: ToolStep[];
  nextPosition: number;
  nextMessage: number;
  modelCalls: number;
  /** What the turn has used so far, earlier attempts and the time before a pause included. */
  readonly usage: { input_tokens: number; output_tokens: number; cost_micros: number | null };
  readonly warnings: readonly Warning[];
}

export interface TurnParts {
  readonly db: Database;
  readonly replicaId: string;
  readonly logger: Logger;
  readonly modelCall: Partial<ModelCallLimits> | undefined;
  readonly flush: () => Promise<void>;
  readonly openModel: () => Promise<LanguageModelV4>;
  readonly listTools: () => Promise<readonly Tool[]>;
}

/** Room of the window that the answer may need, unless the turn limits it further. */
const DEFAULT_OUTPUT_RESERVE = 4_096;
const STRUCTURED_ATTEMPTS = 2;
const CONTEXT_RETRIES = 3;

/** Executes the turn. Resolves with the run where it rests, undefined where it left this replica. Never rejects. */
export async function executeTurn(parts: TurnParts, live: LiveTurn, state: TurnState): Promise<RunRow | undefined> {
  const execution = new TurnExecution(parts, live, state);
  let row: RunRow | undefined;
  try {
    row = await execution.run();
  } catch (error) {
    row = await execution.settleAfter(error);
  }
  live.end(row);
  return row;
}

class TurnExecution {
  readonly #parts: TurnParts;
  readonly #live: LiveTurn;
  readonly #state: TurnState;
  readonly #usedCallIds: Set<string>;
  #tools: ReadonlyMap<string, Tool> = new Map();
  #windowShare = 1;
  #structuredAttempts = 0;
  #commits: Promise<unknown> = Promise.resolve();
  #call: { prompt: ReturnType<typeof buildPrompt>; partial: { text: string; reasoning: string } } | undefined;
  readonly #usage: { input_tokens: number; output_tokens: number; cost_micros: number | null };
  readonly #warnings: Warning[];
  /** How many of the warnings the store has. */
  #storedWarnings: number;

  constructor(parts: TurnParts, live: LiveTurn, state: TurnState) {
    this.#parts = parts;
    this.#live = live;
    this.#state = state;
    this.#usedCallIds = new Set(state.calls.map((call) => call.callId));
    this.#usage = { ...state.usage };
    this.#warnings = [...state.warnings];
    this.#storedWarnings = state.warnings.length;
  }

  async run(): Promise<RunRow> {
    const [model, tools] = await Promise.all([this.#parts.openModel(), this.#parts.listTools()]);
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    for (;;) {
      this.#throwIfStopped();
      await this.#runStartedCalls();
      if (this.#state.openCalls.length > 0) return this.#pause();
      if (this.#state.modelCalls >= MAX_STEPS) {
        return this.#fail({
          code: 'tool_loop_failed',
          message: `The turn did not end within ${MAX_STEPS} model calls.`,
        });
      }
      const settled = await this.#callModel(model);
      if (settled !== undefined) return settled;
    }
  }

  // -- model calls --------------------------------------------------------------------------------------------------

  async #callModel(model: LanguageModelV4): Promise<RunRow | undefined> {
    const startedAt = new Date().toISOString();
    const step = this.#state.nextPosition;
    const answer = await this.#answerWithinWindow(model, step);
    this.#state.nextPosition += 1;
    this.#state.modelCalls += 1;
    const record = this.#modelRecord(step, startedAt, answer.usage, answer.finishReason);
    const message = this.#assistantMessage(answer);
    if (answer.calls.length > 0) return this.#commitCalls(record, message, answer);
    return this.#commitAnswer(record, message, answer);
  }

  async #answerWithinWindow(model: LanguageModelV4, step: number): Promise<ModelAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#fit(model);
      this.#throwIfStopped();
      const prompt = buildPrompt(this.#state.config, this.#state.history);
      const partial = { text: '', reasoning: '' };
      this.#call = { prompt, partial };
      try {
        return await callModelStep(this.#live, {
          model,
          config: this.#state.config,
          prompt,
          tools: [...this.#tools.values()],
          step,
          usedCallIds: this.#usedCallIds,
          flush: this.#parts.flush,
          limits: this.#parts.modelCall,
          partial,
        });
      } catch (error) {
        // Our estimate of the window was too generous for this model: fold more and ask again.
        const overflow = error instanceof ModelCallError && error.kind === 'context_length';
        if (!overflow || attempt > CONTEXT_RETRIES) throw error;
        this.#windowShare /= 2;
      }
    }
  }

  /** Makes instructions, tools, history and the answer fit the window. */
  async #fit(model: LanguageModelV4): Promise<void> {
    const { config, contextWindow, maxOutputTokens } = this.#state;
    const fixed = estimatePromptTokens(
      [{ role: 'system', content: config.instructions }],
      functionTools([...this.#tools.values()]),
    );
    const reserve = Math.min(config.max_output_tokens ?? maxOutputTokens ?? DEFAULT_OUTPUT_RESERVE, contextWindow / 4);
    const perMessage = 8 * this.#state.history.messages.length;
    const room = Math.max(256, Math.floor((contextWindow - reserve - fixed - perMessage) * this.#windowShare));
    const fit = fitHistory(this.#state.history, this.#live.key.turn, room);
    if (fit.folded.length > 0) await this.#fold(model, fit.folded, fit.kept, fit.foldedTurn, room);
    const summaryTokens = this.#state.history.summary === null ? 0 : estimateTokens(this.#state.history.summary);
    const { messages, cut } = cutLargestTexts(this.#state.history.messages, room - summaryTokens);
    if (!cut) return;
    this.#state.history = { ...this.#state.history, messages };
    this.#warn('input_truncated', 'The input is larger than the model’s context window; its largest texts were cut.');
  }

  async #fold(model: LanguageModelV4, folded: StoredMessage[], kept: StoredMessage[], turn: number, room: number) {
    const startedAt = new Date().toISOString();
    const limits = { maxTokens: Math.floor(room * SUMMARY_SHARE), room: Math.floor(room * 0.7) };
    const summary = await summarizeThread(
      { model, limits: this.#parts.modelCall, signal: this.#live.abort.signal },
      this.#state.history.summary,
      folded,
      limits,
    );
    this.#warn('history_compacted', `Turns up to ${turn} no longer fit the model’s window and were summarized.`);
    const usage = { inputTokens: summary.inputTokens, outputTokens: summary.outputTokens };
    const record = this.#modelRecord(
      this.#state.nextPosition,
      startedAt,
      usage,
      summary.byModel ? 'summary' : 'excerpt',
    );
    this.#state.nextPosition += 1;
    await this.#commit({
      status: 'in_progress',
      steps: [{ ...record, kind: 'compaction' }],
      summary: { text: summary.text, turn },
      ...this.#billed(record),
    });
    this.#state.history = { summary: summary.text, summaryTurn: turn, messages: kept };
  }

  /** The turn's last model call: an answer. Undefined when the answer must be asked for again. */
  async #commitAnswer(record: StepRecord, message: StoredMessage, answer: ModelAnswer): Promise<RunRow | undefined> {
    const { response_format: format } = this.#state.config;
    const problem =
      format.type === 'json' && answer.finishReason !== 'content_filter'
        ? findJsonProblem(answer.text, format.schema)
        : undefined;
    if (problem !== undefined) return this.#askAgain(record, message, answer, problem);
    if (answer.finishReason === 'length')
      this.#warn('output_truncated', 'The answer reached its limit of output tokens.');
    const output = this.#output(answer.text);
    const stopReason =
      answer.finishReason === 'tool_calls' || answer.finishReason === 'other' ? 'stop' : answer.finishReason;
    return this.#settle('completed', {
      steps: [record],
      messages: [message],
      output,
      stopReason,
      ...this.#billed(record),
      frames: [
        {
          type: 'message.completed',
          data: { content: answer.text, content_type: output.content_type, step: record.position },
        },
      ],
    });
  }

  async #askAgain(record: StepRecord, message: StoredMessage, answer: ModelAnswer, problem: string) {
    this.#structuredAttempts += 1;
    if (this.#structuredAttempts >= STRUCTURED_ATTEMPTS) {
      return this.#fail(
        {
          code: 'structured_output_failed',
          message: `The model's answer does not match the requested format: ${problem}`,
        },
        { steps: [record], messages: [message], output: this.#output(answer.text), ...this.#billed(record) },
      );
    }
    const text = `That answer does not match the required format: ${problem}. Answer again, with the JSON alone.`;
    const demand = this.#message('user', [{ type: 'text', text }]);
    this.#warn('structured_output_retried', `The first answer did not match the requested format: ${problem}`);
    await this.#commit({
      status: 'in_progress',
      steps: [record],
      messages: [message, demand],
      ...this.#billed(record),
    });
    this.#remember(message, demand);
    return undefined;
  }

  // -- tool calls ---------------------------------------------------------------------------------------------------

  /** Records the calls before any of them runs. Pauses at once when none is for this server. */
  async #commitCalls(record: StepRecord, message: StoredMessage, answer: ModelAnswer): Promise<RunRow | undefined> {
    const planned = answer.calls.map((call) => this.#plan(call));
    const settledAtOnce = planned.filter((step) => step.status === 'completed');
    const results = settledAtOnce.map((step) => this.#resultMessage(step));
    const approvals = planned.flatMap((step) => this.#approvalRequest(step));
    const executing = planned.filter((step) => step.status === 'started').map(executingFrame);
    const required = approvals.map((approval) => ({
      type: 'approval.required',
      data: { approval_id: approval.id, tool_call_id: approval.tool_call_id, tool: approval.tool, args: approval.args },
    }));
    this.#state.calls.push(...planned);
    this.#state.openCalls = planned.filter((step) => step.status !== 'completed');
    for (const step of planned) this.#usedCallIds.add(step.callId);
    const said: NewFrame[] =
      answer.text === ''
        ? []
        : [
            {
              type: 'message.completed',
              data: { content: answer.text, content_type: 'text/plain', step: record.position },
            },
          ];
    const rests = this.#state.openCalls.length > 0 && executing.length === 0;
    const advance = {
      steps: [record, ...planned.map(toolRecord)],
      messages: [message, ...results],
      approvals,
      ...this.#billed(record),
      frames: [...said, ...executing, ...required],
      feed: [...executing, ...required],
    };
    this.#remember(message, ...results);
    if (rests) return this.#pause(advance);
    await this.#commit({ ...advance, status: 'in_progress' });
    return undefined;
  }

  #plan(call: RequestedCall): ToolStep {
    const tool = this.#tools.get(call.name);
    const position = this.#state.nextPosition++;
    const step: ToolStep = {
      position,
      callId: call.callId,
      name: call.name,
      input: call.args,
      status: 'started',
      output: null,
      error: null,
    };
    if (tool === undefined) return { ...step, status: 'completed', error: `There is no tool named ${call.name}.` };
    if (call.problem !== undefined) return { ...step, status: 'completed', error: call.problem };
    if (tool.requiresApproval) return { ...step, status: 'approval', approvalId: mintId('apr') };
    return tool.execute === undefined ? { ...step, status: 'waiting' } : step;
  }

  #approvalRequest(step: ToolStep): ApprovalRequest[] {
    if (step.approvalId === undefined) return [];
    return [{ id: step.approvalId, tool_call_id: step.callId, tool: step.name, args: step.input }];
  }

  /** Runs the calls that are this server's, together; each result is committed as it comes. */
  async #runStartedCalls(): Promise<void> {
    const started = this.#state.openCalls.filter((step) => step.status === 'started');
    if (started.length === 0) return;
    const outcomes = await Promise.allSettled(started.map((step) => this.#runCall(step)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    this.#state.openCalls = this.#state.openCalls.filter((step) => step.status !== 'completed');
  }

  async #runCall(step: ToolStep): Promise<void> {
    // A call that must not be repeated comes with its error from resume.
    const outcome = step.error === null ? await this.#outcomeOf(step) : { error: step.error };
    this.#throwIfStopped();
    step.status = 'completed';
    step.output = 'output' in outcome ? outcome.output : null;
    step.error = 'error' in outcome ? outcome.error : null;
    const message = this.#resultMessage(step);
    const frame = {
      type: 'tool.completed',
      data: {
        tool: step.name,
        tool_call_id: step.callId,
        output: step.error === null ? step.output : { error: step.error },
      },
    };
    await this.#commit({
      status: 'in_progress',
      steps: [toolRecord(step)],
      messages: [message],
      frames: [frame],
      feed: [frame],
    });
    this.#remember(message);
  }

  async #outcomeOf(step: ToolStep): Promise<ToolOutcome> {
    const { projectId, smithId, runId } = this.#live.key;
    const { signal } = this.#live.abort;
    const execute = this.#tools.get(step.name)?.execute;
    if (execute === undefined) return { error: `The tool ${step.name} is no longer there.` };
    const stopped = Promise.withResolvers<never>();
    const onAbort = () => stopped.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const call = execute({ callId: step.callId, args: step.input, projectId, smithId, runId, signal });
      return await Promise.race([call, stopped.promise]);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      this.#parts.logger.warn({ err: error, tool: step.name, runId }, 'tool failed');
      return { error: error instanceof Error ? error.message : 'The tool failed.' };
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  // -- where a turn rests -------------------------------------------------------------------------------------------

  #pause(advance: Partial<CommitRequest> = {}): Promise<RunRow> {
    const reason = this.#state.openCalls.some((step) => step.status === 'approval') ? 'approval' : 'tool_result';
    const paused = { type: 'run.paused', data: { reason, tool_calls: this.#state.openCalls.map(renderCall) } };
    return this.#commit({
      ...advance,
      status: 'paused',
      output: this.#output(this.#call?.partial.text ?? ''),
      stopReason: 'tool_calls',
      frames: [...(advance.frames ?? []), paused],
      feed: [...(advance.feed ?? []), { ...paused, data: { ...this.#about(), ...paused.data } }],
    });
  }

  #settle(status: 'completed' | 'cancelled', advance: Partial<CommitRequest>): Promise<RunRow> {
    const type = status === 'completed' ? 'run.completed' : 'run.cancelled';
    return this.#commit({ ...advance, status, closing: type });
  }

  #fail(error: RunFailure, advance: Partial<CommitRequest> = {}): Promise<RunRow> {
    return this.#commit({ ...advance, status: 'failed', error, stopReason: 'error', closing: 'run.failed' });
  }

  /** Brings a turn that was stopped or failed to its rest. */
  async settleAfter(error: unknown): Promise<RunRow | undefined> {
    const reason = this.#live.abort.signal.aborted ? this.#live.abort.signal.reason : error;
    try {
      await this.#commits;
      if (reason instanceof LeaseLostError) return undefined;
      if (reason instanceof TurnStopped && reason.reason === 'detached') return undefined;
      const cutOff = this.#cutOffCall();
      if (reason instanceof TurnStopped) {
        const text = this.#call?.partial.text ?? '';
        const messages = text === '' ? [] : [this.#message('assistant', [{ type: 'text', text }])];
        return await this.#settle('cancelled', {
          ...cutOff,
          messages,
          output: this.#output(text),
          stopReason: 'cancelled',
        });
      }
      return await this.#fail(this.#describeFailure(reason), cutOff);
    } catch (failure) {
      if (!(failure instanceof LeaseLostError)) {
        // The store does not answer. The lease lapses, and a replica that reaches the store takes the turn over.
        this.#parts.logger.error(
          { err: failure, runId: this.#live.key.runId },
          'the end of a turn could not be stored',
        );
      }
      return undefined;
    }
  }

  #describeFailure(error: unknown): RunFailure {
    if (error instanceof ModelCallError) return { code: 'model_request_failed', message: error.message };
    if (error instanceof Error && 'code' in error && 'detail' in error && typeof error.code === 'string') {
      return { code: error.code, message: error.message };
    }
    this.#parts.logger.error({ err: error, runId: this.#live.key.runId }, 'turn failed');
    return { code: 'run_failed', message: 'The turn failed because of an internal error. Start it again.' };
  }

  /** The step of a model call that did not finish: what it had used is paid for. */
  #cutOffCall(): Partial<CommitRequest> {
    if (this.#call === undefined) return {};
    const usage = estimateUsage(this.#call);
    if (usage.outputTokens === 0) return {};
    const record = this.#modelRecord(this.#state.nextPosition, undefined, usage, 'cut_off');
    return { steps: [record], ...this.#billed(record) };
  }

  // -- commits ------------------------------------------------------------------------------------------------------

  /** Commits one after the other: parallel tool calls end when they like. */
  #commit(request: CommitRequest): Promise<RunRow> {
    const next = this.#commits.then(
      () => this.#commitNow(request),
      () => this.#commitNow(request),
    );
    this.#commits = next.catch(() => undefined);
    return next;
  }

  async #commitNow(request: CommitRequest): Promise<RunRow> {
    const { frames = [], feed = [], closing, ...advance } = request;
    const warnings = this.#warnings;
    this.#addUsage(advance);
    const end = closing === undefined ? [] : [this.#closingFrame(closing, request)];
    // The flush under way holds frames that come before these.
    await this.#live.flush;
    const pending = this.#live.takePending([...frames, ...end]);
    const onFeed = [...feed, ...end.filter(({ type }) => type !== 'run.cancelled')];
    try {
      const row = await advanceTurn(this.#parts.db, this.#live.key, this.#parts.replicaId, this.#state.actor, {
        ...advance,
        frames: pending.frames,
        feed: onFeed.map(({ type, data }) => ({ type, data: { ...this.#about(), ...data } })),
        warnings: warnings.slice(this.#storedWarnings),
      });
      this.#storedWarnings = warnings.length;
      pending.committed();
      if (request.status !== 'paused') this.#call = undefined;
      return row;
    } catch (error) {
      pending.putBack();
      throw error;
    }
  }

  #closingFrame(type: 'run.completed' | 'run.failed' | 'run.cancelled', request: CommitRequest): NewFrame {
    if (type === 'run.failed') return { type, data: { error: request.error } };
    const data: JsonObject = {
      stop_reason: request.stopReason ?? null,
      usage: renderUsage(this.#usage),
      ...(this.#warnings.length === 0 ? {} : { warnings: this.#warnings }),
    };
    return { type, data };
  }

  /** Which run an event on the feed is about. */
  #about(): JsonObject {
    return { run_id: this.#live.key.runId, thread_id: this.#live.key.threadId };
  }

  #addUsage({ inputTokens = 0, outputTokens = 0, costMicros }: Partial<TurnAdvance>): void {
    this.#usage.input_tokens += inputTokens;
    this.#usage.output_tokens += outputTokens;
    if (costMicros !== undefined && costMicros !== null) {
      this.#usage.cost_micros = (this.#usage.cost_micros ?? 0) + costMicros;
    }
  }

  #modelRecord(position: number, startedAt: string | undefined, usage: StepUsage, finish: string): StepRecord {
    return {
      position,
      kind: 'model',
      status: 'completed',
      name: this.#state.config.model,
      output: { finish_reason: finish },
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cost_micros: priceUsage(this.#state.config.model, usage),
      ...(startedAt === undefined ? {} : { started_at: startedAt }),
      finished_at: new Date().toISOString(),
    };
  }

  #billed(record: StepRecord): Pick<TurnAdvance, 'inputTokens' | 'outputTokens' | 'costMicros'> {
    return {
      inputTokens: record.input_tokens ?? 0,
      outputTokens: record.output_tokens ?? 0,
      costMicros: record.cost_micros ?? null,
    };
  }

  #assistantMessage(answer: ModelAnswer): StoredMessage {
    for (const warning of answer.warnings) this.#warn(warning.code, warning.message);
    return this.#message('assistant', answer.content.length === 0 ? [{ type: 'text', text: '' }] : answer.content);
  }

  #resultMessage(step: ToolStep): StoredMessage {
    const output =
      step.error === null
        ? { type: 'json' as const, value: (step.output ?? {}) as never }
        : { type: 'error-text' as const, value: step.error };
    return this.#message('tool', [{ type: 'tool-result', toolCallId: step.callId, toolName: step.name, output }]);
  }

  #message(role: StoredMessage['role'], content: StoredMessage['content']): StoredMessage {
    const position = this.#state.nextMessage++;
    const message = { role, content } as never;
    return { turn: this.#live.key.turn, position, role, content, tokens: estimatePromptTokens([message]) };
  }

  #remember(...messages: StoredMessage[]): void {
    this.#state.history = { ...this.#state.history, messages: [...this.#state.history.messages, ...messages] };
  }

  #output(text: string): JsonObject {
    const isJson = this.#state.config.response_format.type === 'json';
    return {
      content: text,
      content_type: isJson ? 'application/json' : 'text/plain',
      tool_calls: this.#state.calls.map(renderCall),
      suggested_replies: [],
    };
  }

  #warn(code: string, message: string): void {
    if (this.#warnings.some((warning) => warning.code === code && warning.message === message)) return;
    this.#warnings.push({ code, message });
  }

  #throwIfStopped(): void {
    if (this.#live.abort.signal.aborted) throw this.#live.abort.signal.reason;
  }
}

type CommitRequest = Omit<TurnAdvance, 'frames' | 'feed' | 'warnings' | 'status'> & {
  readonly status: RunStatus;
  readonly frames?: readonly NewFrame[];
  readonly feed?: readonly NewFrame[];
  readonly closing?: 'run.completed' | 'run.failed' | 'run.cancelled';
};

function executingFrame(step: ToolStep): NewFrame {
  return { type: 'tool.executing', data: { tool: step.name, tool_call_id: step.callId, args: step.input } };
}

function toolRecord(step: ToolStep): StepRecord {
  return {
    position: step.position,
    kind: 'tool',
    status: step.status,
    name: step.name,
    call_id: step.callId,
    input: step.input,
    output: step.output,
    error: step.error,
    finished_at: step.status === 'completed' ? new Date().toISOString() : null,
  };
}

/** A call as outputs and `run.paused` show it. */
export function renderCall(step: ToolStep): JsonObject {
  return {
    id: step.callId,
    name: step.name,
    arguments: step.input,
    status:
      step.status === 'approval'
        ? 'requires_approval'
        : step.status === 'waiting'
          ? 'requires_result'
          : step.status === 'started'
            ? 'executing'
            : step.error === null
              ? 'completed'
              : 'failed',
    ...(step.approvalId === undefined ? {} : { approval_id: step.approvalId }),
  };
}

/** What keeps the text from being JSON of the schema; undefined when nothing does. */
function findJsonProblem(text: string, schema: JsonObject | undefined): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  return schema === undefined ? undefined : describeViolation(compileAnswerSchema(schema), value);
}
