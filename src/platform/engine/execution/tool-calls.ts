/** The calls that a model asks for: what becomes of each, and how this server runs its own. */
import { untilAborted } from '../../../kernel/cancellation/until-aborted.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Tool, ToolOutcome } from '../../tools/tool.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { ToolStep, TurnKey } from '../turn.ts';
import type { RequestedCall } from './collect-answer.ts';

/**
 * Decides what becomes of a call: it runs here at once, waits for a person or for the client, or is answered with what is
 * wrong with it.
 */
export function planCall(call: RequestedCall, tool: Tool | undefined, position: number): ToolStep {
  const step: ToolStep = {
    position,
    callId: call.callId,
    name: call.name,
    input: call.args,
    status: 'started',
    output: null,
    error: null,
    ...(tool?.target === undefined ? {} : { target: tool.target }),
  };
  if (tool === undefined) return { ...step, status: 'completed', error: `There is no tool named ${call.name}.` };
  if (call.problem !== undefined) return { ...step, status: 'completed', error: call.problem };
  if (tool.requiresApproval) return { ...step, status: 'approval', approvalId: mintId('apr') };
  return tool.execute === undefined ? { ...step, status: 'waiting' } : step;
}

/** Runs a call on this server. Throws only the turn's abort; a tool that fails is an outcome, which the model is told. */
export async function runCall(
  live: LiveTurn,
  step: ToolStep,
  tool: Tool | undefined,
  logger: Logger,
): Promise<ToolOutcome> {
  // Set by markInterruptedCalls.
  if (step.error !== null) return { error: step.error };
  if (tool?.execute === undefined) return { error: `The tool ${step.name} is no longer there.` };
  const { projectId, smithId, runId } = live.key;
  const { signal } = live.abort;
  const { callId, input: args, answer, wasBegun = false } = step;
  try {
    const call = tool.execute({ callId, args, projectId, smithId, runId, answer, wasBegun, signal });
    return await untilAborted(call, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    logger.warn({ err: error, tool: step.name, runId }, 'tool failed');
    return { error: error instanceof Error ? error.message : 'The tool failed.' };
  }
}

/** Answers the calls that an earlier attempt began, that must not be made twice and that cannot be gone on with. */
export async function markInterruptedCalls(
  { projectId, runId }: Pick<TurnKey, 'projectId' | 'runId'>,
  openCalls: readonly ToolStep[],
  tools: ReadonlyMap<string, Tool>,
): Promise<void> {
  for (const call of openCalls) {
    if (call.status !== 'started') continue;
    const tool = tools.get(call.name);
    call.wasBegun = true;
    if (tool?.repeatable === true || (await tool?.canGoOn?.({ projectId, runId, callId: call.callId })) === true)
      continue;
    call.error = 'The server went away during this call, so its outcome is unknown. It was not repeated.';
  }
}
