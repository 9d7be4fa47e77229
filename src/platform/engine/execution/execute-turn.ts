/**
 * Runs a turn from where it is to where it rests. The same loop starts and resumes: it looks at what is open (tool calls
 * to run, calls that wait for somebody, or nothing) and does the next step. See turn.ts for the states.
 */
import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { ModelCallError, type ModelCallLimits } from '../../models/index.ts';
import type { Tool } from '../../tools/tool.ts';
import { buildPrompt } from '../context/build-prompt.ts';
import { fitContext } from '../context/fit-context.ts';
import { findAnswerProblem } from '../input/compile-answer-schema.ts';
import type { ApprovalRequest, StepRecord } from '../store/advance-turn.ts';
import { type RunRow, renderUsage } from '../store/run-row.ts';
import type { LiveTurn, NewFrame } from '../timeline/live-turn.ts';
import { LeaseLostError, MAX_STEPS, type RunFailure, type StoredMessage, type ToolStep } from '../turn.ts';
import { callModelStep, emptyAnswer, estimateUsage, type ModelAnswer, type PartialAnswer } from './call-model-step.ts';
import { markInterruptedCalls, planCall, runCall, untilAborted } from './tool-calls.ts';
import { type Commit, CommitFailedError, TurnJournal } from './turn-journal.ts';
import {
  billed,
  closeCalls,
  completedFrame,
  describePause,
  executingFrame,
  modelRecord,
  newMessage,
  renderOutput,
  resultMessage,
  toolRecord,
} from './turn-records.ts';
import { lastSaid, remember, type TurnState, warn } from './turn-state.ts';

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

export interface TurnParts {
  readonly db: Database;
  readonly replicaId: string;
  readonly logger: Logger;
  readonly modelCall: Partial<ModelCallLimits> | undefined;
  readonly flush: () => Promise<void>;
  readonly openModel: () => Promise<LanguageModelV4>;
  /** The prompt with the bytes of the files that it refers to. */
  readonly loadFiles: (prompt: LanguageModelV4Prompt) => Promise<LanguageModelV4Prompt>;
  readonly listTools: () => Promise<readonly Tool[]>;
  /** Whether an earlier attempt at this turn was cut off. */
  readonly restarted: boolean;
  /** Nobody reads along: answers of the model may come in one piece. */
  readonly buffered: boolean;
}

/** Answers that are asked for before a turn fails for not being of the requested format. */
const STRUCTURED_ATTEMPTS = 2;
/** How often a model may say that its window is smaller than we think. */
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
  readonly #journal: TurnJournal;
  #tools: ReadonlyMap<string, Tool> = new Map();
  #windowShare = 1;
  #structuredAttempts = 0;
  /** Calls whose `tool.executing` this execution has committed. */
  readonly #announced = new Set<string>();
  /** The model call under way: what a cancelled or failed one has used and said. */
  #call: { prompt: LanguageModelV4Prompt; partial: PartialAnswer } | undefined;

  constructor(parts: TurnParts, live: LiveTurn, state: TurnState) {
    this.#parts = parts;
    this.#live = live;
    this.#state = state;
    this.#journal = new TurnJournal(parts, live, state);
  }

  async run(): Promise<RunRow> {
    const opening = Promise.all([this.#parts.openModel(), this.#parts.listTools()]);
    const [model, tools] = await untilAborted(opening, this.#live.abort.signal);
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    if (this.#parts.restarted) markInterruptedCalls(this.#state.openCalls, this.#tools);
    for (;;) {
      this.#throwIfStopped();
      await this.#runStartedCalls();
      if (this.#state.openCalls.length > 0) return this.#pause();
      if (this.#state.modelCalls >= MAX_STEPS) {
        const message = `The turn did not end within ${MAX_STEPS} model calls.`;
        return this.#fail({ code: 'tool_loop_failed', message });
      }
      const settled = await this.#callModel(model);
      if (settled !== undefined) return settled;
    }
  }

  /** One model call and what follows from it. Undefined: the turn goes on. */
  async #callModel(model: LanguageModelV4): Promise<RunRow | undefined> {
    const startedAt = new Date().toISOString();
    const answer = await this.#answerWithinWindow(model);
    this.#call = undefined;
    this.#state.modelCalls += 1;
    const record = modelRecord(this.#state, { startedAt, usage: answer.usage, finish: answer.finishReason });
    for (const warning of answer.warnings) warn(this.#state, warning.code, warning.message);
    const content = answer.content.length === 0 ? [{ type: 'text' as const, text: '' }] : answer.content;
    const message = this.#message('assistant', content);
    if (answer.calls.length > 0) return this.#commitCalls(record, message, answer);
    return this.#commitAnswer(record, message, answer);
  }

  async #answerWithinWindow(model: LanguageModelV4): Promise<ModelAnswer> {
    const { modelCall, flush, buffered } = this.#parts;
    const { signal } = this.#live.abort;
    const tools = [...this.#tools.values()];
    for (let attempt = 1; ; attempt += 1) {
      const context = { model, modelCall, tools, journal: this.#journal, turn: this.#live.key.turn, signal };
      await fitContext(context, this.#state, this.#windowShare);
      this.#throwIfStopped();
      const prompt = buildPrompt(this.#state.config, this.#state.history, this.#state.contextWindow);
      const partial = emptyAnswer();
      this.#call = { prompt, partial };
      try {
        return await callModelStep(this.#live, {
          model,
          config: this.#state.config,
          prompt: await this.#parts.loadFiles(prompt),
          tools,
          step: this.#state.nextPosition,
          isFirst: this.#state.modelCalls === 0,
          usedCallIds: new Set(this.#state.calls.map((call) => call.callId)),
          flush,
          limits: modelCall,
          buffered,
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

  /** The turn's last model call: an answer. Undefined when the answer must be asked for again. */
  async #commitAnswer(record: StepRecord, message: StoredMessage, answer: ModelAnswer): Promise<RunRow | undefined> {
    const { finishReason, text } = answer;
    const problem =
      finishReason === 'content_filter'
        ? undefined
        : findAnswerProblem(text, this.#state.config.settings.answer.format);
    if (problem !== undefined) return this.#askAgain(record, message, text, problem);
    if (finishReason === 'length') {
      warn(this.#state, 'output_truncated', 'The answer reached its limit of output tokens.');
    }
    const output = renderOutput(this.#state, text);
    return this.#journal.commit({
      status: 'completed',
      steps: [record],
      messages: [message],
      output,
      stopReason: finishReason === 'tool_calls' || finishReason === 'other' ? 'stop' : finishReason,
      ...billed(record),
      frames: [messageFrame(text, String(output.content_type), record.position)],
    });
  }

  async #askAgain(record: StepRecord, message: StoredMessage, text: string, problem: string) {
    this.#structuredAttempts += 1;
    if (this.#structuredAttempts >= STRUCTURED_ATTEMPTS) {
      return this.#fail(
        {
          code: 'structured_output_failed',
          message: `The model's answer does not match the requested format: ${problem}`,
        },
        { steps: [record], messages: [message], output: renderOutput(this.#state, text), ...billed(record) },
      );
    }
    const demand = this.#message('user', [
      {
        type: 'text',
        text: `That answer does not match the required format: ${problem}. Answer again, with the JSON alone.`,
      },
    ]);
    warn(this.#state, 'structured_output_retried', `The first answer did not match the requested format: ${problem}`);
    await this.#journal.commit({
      status: 'in_progress',
      steps: [record],
      messages: [message, demand],
      ...billed(record),
    });
    remember(this.#state, message, demand);
    return undefined;
  }

  /** Records the calls before any of them runs. Pauses at once when none is for this server. */
  async #commitCalls(record: StepRecord, message: StoredMessage, answer: ModelAnswer): Promise<RunRow | undefined> {
    const planned = answer.calls.map((call) => planCall(call, this.#tools.get(call.name), this.#state.nextPosition++));
    const results = planned
      .filter((step) => step.status === 'completed')
      .map((step) => resultMessage(this.#state, this.#live.key.turn, step));
    const approvals = planned.flatMap(approvalRequest);
    const started = planned.filter((step) => step.status === 'started');
    const executing = started.map(executingFrame);
    for (const step of started) this.#announced.add(step.callId);
    const required = approvals.map(approvalFrame);
    const said = answer.text === '' ? [] : [messageFrame(answer.text, 'text/plain', record.position)];
    this.#state.calls.push(...planned);
    this.#state.openCalls = planned.filter((step) => step.status !== 'completed');
    remember(this.#state, message, ...results);
    const commit = {
      steps: [record, ...planned.map(toolRecord)],
      messages: [message, ...results],
      approvals,
      ...billed(record),
      frames: [...said, ...executing, ...required],
      feed: [...executing, ...required],
    };
    const rests = this.#state.openCalls.length > 0 && executing.length === 0;
    if (rests) return this.#pause(commit);
    await this.#journal.commit({ ...commit, status: 'in_progress' });
    return undefined;
  }

  /** Runs the calls that are this server's, together; each result is committed as it comes. */
  async #runStartedCalls(): Promise<void> {
    const started = this.#state.openCalls.filter((step) => step.status === 'started');
    if (started.length === 0) return;
    await this.#announce(started.filter(({ callId, error }) => error === null && !this.#announced.has(callId)));
    const outcomes = await Promise.allSettled(started.map((step) => this.#runStartedCall(step)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    this.#state.openCalls = this.#state.openCalls.filter((step) => step.status !== 'completed');
  }

  /** Tells of calls that were recorded by somebody else: approved ones, and those that an earlier attempt began. */
  async #announce(steps: readonly ToolStep[]): Promise<void> {
    if (steps.length === 0) return;
    const frames = steps.map(executingFrame);
    await this.#journal.commit({ status: 'in_progress', frames, feed: frames });
    this.#throwIfStopped();
  }

  async #runStartedCall(step: ToolStep): Promise<void> {
    const outcome = await runCall(this.#live, step, this.#tools.get(step.name), this.#parts.logger);
    this.#throwIfStopped();
    step.status = 'completed';
    step.output = 'output' in outcome ? outcome.output : null;
    step.error = 'error' in outcome ? outcome.error : null;
    const forModel = 'output' in outcome ? outcome.forModel : undefined;
    const message = resultMessage(this.#state, this.#live.key.turn, step, forModel);
    const frame = completedFrame(step);
    await this.#journal.commit({
      status: 'in_progress',
      steps: [toolRecord(step)],
      messages: [message],
      frames: [frame],
      feed: [frame],
    });
    remember(this.#state, message);
  }

  /** Rests until somebody answers what is open. The output has what was said with the calls. */
  #pause(commit: Partial<Commit> = {}): Promise<RunRow> {
    const { usage, openCalls } = this.#state;
    const { inputTokens = 0, outputTokens = 0, costMicros } = commit;
    // The commit's own part is added to the state as it is written.
    const spent = {
      input_tokens: usage.input_tokens + inputTokens,
      output_tokens: usage.output_tokens + outputTokens,
      cost_micros: costMicros == null ? usage.cost_micros : (usage.cost_micros ?? 0) + costMicros,
    };
    const paused = { type: 'run.paused', data: describePause(openCalls) };
    return this.#journal.commit({
      ...commit,
      status: 'paused',
      output: renderOutput(this.#state, lastSaid(this.#state, this.#live.key.turn)),
      stopReason: 'tool_calls',
      frames: [...(commit.frames ?? []), { ...paused, data: { ...paused.data, usage: renderUsage(spent) } }],
      feed: [...(commit.feed ?? []), paused],
    });
  }

  /** The output keeps what was said and called until then. */
  #fail(error: RunFailure, commit: Partial<Commit> = {}): Promise<RunRow> {
    const text = `${this.#call?.partial.text ?? ''}`;
    const said = text !== '' || this.#state.calls.length > 0;
    const output = said ? closeCalls(renderOutput(this.#state, text)) : null;
    return this.#journal.commit({ output, ...commit, status: 'failed', error, stopReason: 'error' });
  }

  /** Brings a turn that was stopped or failed to its rest; undefined where it is not this replica's to settle. */
  async settleAfter(error: unknown): Promise<RunRow | undefined> {
    const reason = this.#live.abort.signal.aborted ? this.#live.abort.signal.reason : error;
    try {
      await this.#journal.idle();
      if (reason instanceof LeaseLostError) return undefined;
      if (reason instanceof CommitFailedError) throw reason;
      if (reason instanceof TurnStopped) {
        return reason.reason === 'detached' ? undefined : await this.#cancel();
      }
      return await this.#fail(this.#describeFailure(reason), this.#cutOffCall());
    } catch (failure) {
      // The engine takes the turn up again from what the store has (see replica.ts).
      if (!(failure instanceof LeaseLostError)) {
        this.#parts.logger.error({ err: failure, runId: this.#live.key.runId }, 'a step could not be stored');
      }
      return undefined;
    }
  }

  /** Keeps what was said until then. */
  #cancel(): Promise<RunRow> {
    const text = `${this.#call?.partial.text ?? ''}`;
    return this.#journal.commit({
      ...this.#cutOffCall(),
      status: 'cancelled',
      messages: text === '' ? [] : [this.#message('assistant', [{ type: 'text', text }])],
      output: closeCalls(renderOutput(this.#state, text)),
      stopReason: 'cancelled',
    });
  }

  /** The step of a model call that did not finish: what it had used is paid for. */
  #cutOffCall(): Partial<Commit> {
    if (this.#call === undefined) return {};
    const usage = estimateUsage(this.#call);
    if (usage.outputTokens === 0) return {};
    const record = modelRecord(this.#state, { usage, finish: 'cut_off' });
    return { steps: [record], ...billed(record) };
  }

  #describeFailure(error: unknown): RunFailure {
    if (error instanceof ModelCallError) return { code: 'model_request_failed', message: error.message };
    if (error instanceof ApiError) return { code: error.code, message: error.message };
    this.#parts.logger.error({ err: error, runId: this.#live.key.runId }, 'turn failed');
    return { code: 'run_failed', message: 'The turn failed because of an internal error. Start it again.' };
  }

  #message(role: StoredMessage['role'], content: StoredMessage['content']): StoredMessage {
    return newMessage(this.#state, this.#live.key.turn, role, content);
  }

  #throwIfStopped(): void {
    if (this.#live.abort.signal.aborted) throw this.#live.abort.signal.reason;
  }
}

function messageFrame(content: string, contentType: string, step: number): NewFrame {
  return { type: 'message.completed', data: { content, content_type: contentType, step } };
}

function approvalRequest(step: ToolStep): ApprovalRequest[] {
  if (step.approvalId === undefined) return [];
  return [{ id: step.approvalId, tool_call_id: step.callId, tool: step.name, args: step.input }];
}

function approvalFrame({ id, tool_call_id, tool, args }: ApprovalRequest): NewFrame {
  return { type: 'approval.required', data: { approval_id: id, tool_call_id, tool, args } };
}
