/**
 * Runs a turn from where it is to where it rests. The same loop starts and resumes: it looks at what is open (tool calls
 * to run, calls that wait for somebody, or nothing) and does the next step. See turn.ts for the states.
 */

import { untilAborted } from '../../../kernel/cancellation/until-aborted.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type ChatModel, estimatePromptTokens, ModelCallError } from '../../models/index.ts';
import type { AnswerProblem } from '../../schemas/index.ts';
import type { Tool } from '../../tools/tool.ts';
import { buildPrompt } from '../context/build-prompt.ts';
import { fitContext } from '../context/fit-context.ts';
import type { StepRecord } from '../store/advance-turn.ts';
import type { RunRow } from '../store/run-row.ts';
import type { NewFrame } from '../timeline/frames.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import { MAX_STEPS, type ResponseFormat, type StoredMessage } from '../turn.ts';
import { callModelStep } from './call-model-step.ts';
import { functionTools, toolsChosen } from './call-options.ts';
import { emptyAnswer, type ModelAnswer } from './collect-answer.ts';
import { failTurn, pauseTurn, settleAfter } from './end-turn.ts';
import { findAnswerProblem } from './find-answer-problem.ts';
import { listRequestServers } from './list-request-servers.ts';
import { ServerCalls } from './run-server-calls.ts';
import { markInterruptedCalls, planCall } from './tool-calls.ts';
import { reserveForCall } from './turn-budgets.ts';
import { TurnContext, type TurnDependencies } from './turn-context.ts';
import {
  approvalFrame,
  approvalRequest,
  billed,
  executingFrame,
  forFeed,
  modelRecord,
  newMessage,
  renderOutput,
  resultMessage,
  toolRecord,
} from './turn-records.ts';
import { remember, type TurnState, warn } from './turn-state.ts';

/** Answers that are asked for before a turn fails for not being of the requested format. */
const STRUCTURED_ATTEMPTS = 2;
/** How often a model may say that its window is smaller than we think. */
const CONTEXT_RETRIES = 3;

/** Executes the turn. Resolves with the run where it rests, undefined where it left this replica. Never rejects. */
export async function executeTurn(
  deps: TurnDependencies,
  live: LiveTurn,
  state: TurnState,
): Promise<RunRow | undefined> {
  const context = new TurnContext(deps, live, state);
  let row: RunRow | undefined;
  try {
    row = await new TurnExecution(context).run();
  } catch (error) {
    row = await settleAfter(context, error);
  }
  live.end(row);
  return row;
}

class TurnExecution {
  readonly #context: TurnContext;
  readonly #state: TurnState;
  readonly #serverCalls: ServerCalls;
  #windowShare = 1;
  #structuredAttempts = 0;

  constructor(context: TurnContext) {
    this.#context = context;
    this.#state = context.state;
    this.#serverCalls = new ServerCalls(context);
  }

  async run(): Promise<RunRow> {
    const { deps, live } = this.#context;
    const lists = await listRequestServers(this.#context);
    const opening = Promise.all([deps.openModel(), deps.listTools(lists)]);
    const [model, { tools, warnings }] = await untilAborted(opening, live.abort.signal);
    this.#context.tools = new Map(tools.map((tool) => [tool.name, tool]));
    for (const { code, message } of warnings) warn(this.#state, code, message);
    this.#warnOfMissingSkills();
    this.#checkChoice(tools);
    if (deps.restarted) await markInterruptedCalls(live.key, this.#state.openCalls, this.#context.tools);
    for (;;) {
      this.#context.throwIfStopped();
      await this.#serverCalls.run();
      if (this.#state.openCalls.length > 0) return pauseTurn(this.#context);
      if (this.#state.modelCalls >= MAX_STEPS) {
        const message = `The turn did not end within ${MAX_STEPS} model calls.`;
        return failTurn(this.#context, { code: 'tool_loop_failed', message });
      }
      const settled = await this.#callModel(model);
      if (settled !== undefined) return settled;
    }
  }

  /** Which tools an MCP server has is known only now. */
  #checkChoice(tools: readonly Tool[]): void {
    const { choice } = this.#state.config.settings.tools;
    if (typeof choice === 'string' || !('server' in choice) || toolsChosen(choice, tools).length > 0) return;
    const what = choice.tool === undefined ? 'has no tool' : `has no tool ${choice.tool}`;
    const message = `\`tool_choice\` asks for the MCP server ${choice.server}, which ${what} that the turn may call.`;
    throw new ApiError('invalid_tool_choice', { param: 'tool_choice', message });
  }

  #warnOfMissingSkills(): void {
    for (const { skill_id, version } of this.#state.config.skills?.missing ?? []) {
      const what = version === undefined ? `The skill ${skill_id}` : `Version ${version} of the skill ${skill_id}`;
      warn(this.#state, 'skill_missing', `${what} has been deleted: the turn does without it.`);
    }
  }

  /** One model call and what follows from it. Undefined: the turn goes on. */
  async #callModel(model: ChatModel): Promise<RunRow | undefined> {
    const startedAt = systemClock.now().toISOString();
    const answer = await this.#answerWithinWindow(model);
    this.#context.call = undefined;
    this.#state.modelCalls += 1;
    const record = modelRecord(this.#state, { startedAt, usage: answer.usage, finish: answer.finishReason });
    for (const warning of answer.warnings) warn(this.#state, warning.code, warning.message);
    const content = answer.content.length === 0 ? [{ type: 'text' as const, text: '' }] : answer.content;
    const message = this.#message('assistant', content);
    if (answer.calls.length > 0) return this.#commitCalls(record, message, answer);
    return this.#commitAnswer(record, message, answer);
  }

  async #answerWithinWindow(model: ChatModel): Promise<ModelAnswer> {
    const { live, journal, deps } = this.#context;
    const { modelCall, flush, buffered, loadFiles } = deps;
    const { signal } = live.abort;
    const tools = [...this.#context.tools.values()];
    for (let attempt = 1; ; attempt += 1) {
      const reserve = (tokens: number, answer?: number) => reserveForCall(deps, live, this.#state, tokens, answer);
      const fitting = { model, modelCall, tools, journal, turn: live.key.turn, signal, reserve };
      await fitContext(fitting, this.#state, this.#windowShare);
      this.#context.throwIfStopped();
      const prompt = buildPrompt(this.#state.config, this.#state.history, this.#state.contextWindow);
      if (this.#state.budgets.apply) await reserve(estimatePromptTokens(prompt, functionTools(tools)));
      const partial = emptyAnswer();
      this.#context.call = { prompt, partial, startedAt: systemClock.now().toISOString() };
      try {
        return await callModelStep(live, {
          model,
          config: this.#state.config,
          prompt: await loadFiles(prompt),
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
        // Our estimate of the window was too generous for this model: summarize more and ask again.
        const overflow = error instanceof ModelCallError && error.kind === 'context_length';
        if (!overflow || attempt > CONTEXT_RETRIES) throw error;
        this.#windowShare /= 2;
      }
    }
  }

  /** The turn's last model call: an answer. Undefined when the answer must be asked for again. */
  async #commitAnswer(record: StepRecord, message: StoredMessage, answer: ModelAnswer): Promise<RunRow | undefined> {
    const { finishReason, text } = answer;
    const { format } = this.#state.config.settings.answer;
    const found = finishReason === 'content_filter' ? undefined : await this.#findProblem(text, format);
    if (found !== undefined) return this.#askAgain(record, message, text, found);
    if (finishReason === 'length') {
      warn(this.#state, 'output_truncated', 'The answer reached its limit of output tokens.');
    }
    const output = renderOutput(this.#state, text);
    return this.#context.journal.commit({
      status: 'completed',
      steps: [record],
      messages: [message],
      output,
      stopReason: finishReason === 'tool_calls' || finishReason === 'other' ? 'stop' : finishReason,
      ...billed(record),
      frames: [messageFrame(text, String(output.content_type), record.position)],
    });
  }

  #findProblem(text: string, format: ResponseFormat): Promise<AnswerProblem | undefined> {
    const { deps, live } = this.#context;
    return findAnswerProblem(deps.schemas, live.key.projectId, { text, format, signal: live.abort.signal });
  }

  async #askAgain(record: StepRecord, message: StoredMessage, text: string, { problem, isFinal }: AnswerProblem) {
    this.#structuredAttempts += 1;
    if (isFinal || this.#structuredAttempts >= STRUCTURED_ATTEMPTS) {
      return failTurn(
        this.#context,
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
    await this.#context.journal.commit({
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
    const { tools, journal, live } = this.#context;
    const planned = answer.calls.map((call) => planCall(call, tools.get(call.name), this.#state.nextPosition++));
    const results = planned
      .filter((step) => step.status === 'completed')
      .map((step) => resultMessage(this.#state, live.key.turn, step));
    const approvals = planned.flatMap(approvalRequest);
    const started = planned.filter((step) => step.status === 'started');
    const executing = started.map(executingFrame);
    this.#serverCalls.markAnnounced(started);
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
      feed: forFeed([...executing, ...required]),
    };
    const rests = this.#state.openCalls.length > 0 && executing.length === 0;
    if (rests) return pauseTurn(this.#context, commit);
    await journal.commit({ ...commit, status: 'in_progress' });
    return undefined;
  }

  #message(role: StoredMessage['role'], content: StoredMessage['content']): StoredMessage {
    return newMessage(this.#state, this.#context.live.key.turn, role, content);
  }
}

function messageFrame(content: string, contentType: string, step: number): NewFrame {
  return { type: 'message.completed', data: { content, content_type: contentType, step } };
}
