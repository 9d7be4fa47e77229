/** Runs the calls of a turn that are this server's; each result is committed as it comes. */
import { isDeepStrictEqual } from 'node:util';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ConnectionNeed, ToolOutcome, ToolQuestion } from '../../tools/tool.ts';
import { awaitConnection, forgetConnectionWait } from '../store/connection-waits.ts';
import type { NewFrame } from '../timeline/frames.ts';
import type { ToolStep } from '../turn.ts';
import { runCall } from './tool-calls.ts';
import type { TurnContext } from './turn-context.ts';
import {
  approvalFrame,
  approvalRequest,
  completedFrame,
  executingFrame,
  expiryFrame,
  forFeed,
  resultMessage,
  toolRecord,
} from './turn-records.ts';
import { remember } from './turn-state.ts';

export class ServerCalls {
  readonly #context: TurnContext;
  /** Calls whose `tool.executing` this execution has committed. */
  readonly #announced = new Set<string>();

  constructor(context: TurnContext) {
    this.#context = context;
  }

  /** Their frames are committed together with the calls. */
  markAnnounced(steps: readonly ToolStep[]): void {
    for (const step of steps) this.#announced.add(step.callId);
  }

  /** Runs those that are open, together. What asks something stays open, and waits. */
  async run(): Promise<void> {
    const { state } = this.#context;
    const toRun = state.openCalls.filter(({ status }) => status === 'ready' || status === 'started');
    if (toRun.length === 0) return;
    await this.#announce(toRun.filter(({ callId, error }) => error === null && !this.#announced.has(callId)));
    const outcomes = await Promise.allSettled(toRun.map((step) => this.#runCall(step)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    state.openCalls = state.openCalls.filter((step) => step.status !== 'completed');
  }

  /**
   * Tells of calls that were recorded by somebody else: approved and answered ones, and those that an earlier attempt
   * began. From here on a call may have been made.
   */
  async #announce(steps: readonly ToolStep[]): Promise<void> {
    const begun = steps.filter((step) => !this.#hasMoved(step));
    if (begun.length === 0) return;
    for (const step of begun) step.status = 'started';
    const frames = begun.map(executingFrame);
    await this.#context.journal.commit({
      status: 'in_progress',
      steps: begun.map(toolRecord),
      frames,
      feed: forFeed(frames),
    });
    this.#context.throwIfStopped();
  }

  /** What a person has approved, or was asked by, is not what the call would reach now. */
  #hasMoved(step: ToolStep): boolean {
    if (this.#announced.has(step.callId) || step.approvalId === undefined) return false;
    const tool = this.#context.tools.get(step.name);
    return tool !== undefined && !isDeepStrictEqual(step.target, tool.target);
  }

  async #runCall(step: ToolStep): Promise<void> {
    const { live, tools, deps } = this.#context;
    if (step.error === null && this.#hasMoved(step)) return this.#refuseMoved(step);
    const outcome = await runCall(live, step, tools.get(step.name), deps.logger);
    this.#context.throwIfStopped();
    if ('question' in outcome) await this.#ask(step, outcome.question);
    else if ('connection' in outcome) await this.#awaitConnection(step, outcome.connection);
    else await this.#complete(step, outcome);
  }

  /** Pauses where somebody is there to connect the account; else the model is told, and may pass the link on. */
  async #awaitConnection(step: ToolStep, need: ConnectionNeed): Promise<void> {
    const { state, live, journal, deps } = this.#context;
    const { provider, mcpServer: mcp_server, authorizeUrl: authorize_url } = need;
    const required = { type: 'connection.required', data: { provider, mcp_server, authorize_url } };
    if (authorize_url === null || state.config.settings.tools.pauses_to_connect !== true) {
      const link = authorize_url === null ? '' : ` The user can connect one at ${authorize_url}.`;
      const error = `The user has connected no account to ${mcp_server}, which this tool needs.${link} The call was not made.`;
      return this.#complete(step, { error }, { feed: [required] });
    }
    if (!(await awaitConnection(deps.db, live.key, step.callId, { ...need, authorizeUrl: authorize_url }))) {
      return this.#runCall(step);
    }
    step.status = 'connection';
    step.connection = { provider, mcp_server, authorize_url };
    await journal.commit({ status: 'in_progress', steps: [toolRecord(step)], feed: [required] });
  }

  /** The approval is worth nothing any more. */
  async #refuseMoved(step: ToolStep): Promise<void> {
    const approvals = approvalRequest(step).map((request) => ({ ...request, status: 'expired' as const }));
    const error = `The tool ${step.name} has changed since the call was shown to a person, so it was not made.`;
    await this.#complete(step, { error }, { approvals, frames: approvals.map(({ id }) => expiryFrame(id)) });
  }

  async #complete(
    step: ToolStep,
    outcome: Extract<ToolOutcome, { readonly output: unknown } | { readonly error: string }>,
    { approvals = [], frames = [], feed = [] }: Partial<Closing> = {},
  ): Promise<void> {
    const { live, state, journal, deps } = this.#context;
    step.status = 'completed';
    step.output = 'output' in outcome ? outcome.output : null;
    step.error = 'error' in outcome ? outcome.error : null;
    const forModel = 'output' in outcome ? outcome.forModel : undefined;
    const message = resultMessage(state, live.key.turn, step, forModel);
    const shown = [...frames, completedFrame(step)];
    await journal.commit({
      status: 'in_progress',
      steps: [toolRecord(step)],
      messages: [message],
      approvals,
      frames: shown,
      feed: [...forFeed(shown), ...feed],
    });
    remember(state, message);
    // A replica that ended between the note that this call waits and the pause has left the note.
    if (step.connection !== undefined) await forgetConnectionWait(deps.db, live.key, step.callId);
  }

  async #ask(step: ToolStep, question: ToolQuestion): Promise<void> {
    const { message, requestedSchema, state: questionState, hold, expiresAt } = question;
    const { replicaId, held } = this.#context.deps;
    step.status = 'approval';
    step.approvalId = mintId('apr');
    step.question = { message, requestedSchema };
    const approvals = approvalRequest(step);
    const frames = approvals.map(approvalFrame);
    await this.#context.journal.commit({
      status: 'in_progress',
      steps: [toolRecord(step)],
      approvals: approvals.map((request) => ({
        ...request,
        question_state: questionState,
        expires_at: expiresAt?.toISOString() ?? null,
        holder: hold === undefined ? null : replicaId,
      })),
      frames,
      feed: frames,
    });
    if (hold !== undefined) held.add(this.#context.live.key, step.approvalId, hold);
  }
}

interface Closing {
  readonly approvals: readonly (ReturnType<typeof approvalRequest>[number] & { readonly status: 'expired' })[];
  readonly frames: readonly NewFrame[];
  /** Told to the feed alone. */
  readonly feed: readonly NewFrame[];
}
