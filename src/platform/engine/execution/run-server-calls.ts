/** Runs the calls of a turn that are this server's; each result is committed as it comes. */
import type { ToolStep } from '../turn.ts';
import { runCall } from './tool-calls.ts';
import type { TurnContext } from './turn-context.ts';
import { completedFrame, executingFrame, resultMessage, toolRecord } from './turn-records.ts';
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

  /** Runs those that are open, together. */
  async run(): Promise<void> {
    const { state } = this.#context;
    const started = state.openCalls.filter((step) => step.status === 'started');
    if (started.length === 0) return;
    await this.#announce(started.filter(({ callId, error }) => error === null && !this.#announced.has(callId)));
    const outcomes = await Promise.allSettled(started.map((step) => this.#runCall(step)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    state.openCalls = state.openCalls.filter((step) => step.status !== 'completed');
  }

  /** Tells of calls that were recorded by somebody else: approved ones, and those that an earlier attempt began. */
  async #announce(steps: readonly ToolStep[]): Promise<void> {
    if (steps.length === 0) return;
    const frames = steps.map(executingFrame);
    await this.#context.journal.commit({ status: 'in_progress', frames, feed: frames });
    this.#context.throwIfStopped();
  }

  async #runCall(step: ToolStep): Promise<void> {
    const { live, state, tools, deps, journal } = this.#context;
    const outcome = await runCall(live, step, tools.get(step.name), deps.logger);
    this.#context.throwIfStopped();
    step.status = 'completed';
    step.output = 'output' in outcome ? outcome.output : null;
    step.error = 'error' in outcome ? outcome.error : null;
    const forModel = 'output' in outcome ? outcome.forModel : undefined;
    const message = resultMessage(state, live.key.turn, step, forModel);
    const frame = completedFrame(step);
    await journal.commit({
      status: 'in_progress',
      steps: [toolRecord(step)],
      messages: [message],
      frames: [frame],
      feed: [frame],
    });
    remember(state, message);
  }
}
