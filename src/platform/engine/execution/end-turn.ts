/** How an execution comes to rest: paused, failed or cancelled, with what was said until then. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { isStorageFault } from '../../../kernel/http/storage-faults.ts';
import { ModelCallError } from '../../models/index.ts';
import { type RunRow, renderUsage } from '../store/run-row.ts';
import { LeaseLostError, type RunFailure, TurnStopped } from '../turn.ts';
import { estimateUsage } from './call-model-step.ts';
import type { TurnContext } from './turn-context.ts';
import { type Commit, CommitFailedError } from './turn-journal.ts';
import { addBilled, billed, closeCalls, describePause, modelRecord, newMessage, renderOutput } from './turn-records.ts';
import { lastSaid } from './turn-state.ts';

/** Rests until somebody answers what is open. The output has what was said with the calls. */
export function pauseTurn({ state, live, journal }: TurnContext, commit: Partial<Commit> = {}): Promise<RunRow> {
  const { usage, openCalls } = state;
  // The commit's own part is added to the state as it is written.
  const spent = addBilled(usage, commit);
  const paused = { type: 'run.paused', data: describePause(openCalls) };
  return journal.commit({
    ...commit,
    status: 'paused',
    output: renderOutput(state, lastSaid(state, live.key.turn)),
    stopReason: 'tool_calls',
    frames: [...(commit.frames ?? []), { ...paused, data: { ...paused.data, usage: renderUsage(spent) } }],
    feed: [...(commit.feed ?? []), paused],
  });
}

/** The output keeps what was said and called until then. */
export function failTurn(
  { state, call, journal }: TurnContext,
  error: RunFailure,
  commit: Partial<Commit> = {},
): Promise<RunRow> {
  const text = `${call?.partial.text ?? ''}`;
  const said = text !== '' || state.calls.length > 0;
  const output = said ? closeCalls(renderOutput(state, text)) : null;
  return journal.commit({ output, ...commit, status: 'failed', error, stopReason: 'error' });
}

/** Brings a turn that was stopped or failed to its rest; undefined where it is not this replica's to settle. */
export async function settleAfter(context: TurnContext, error: unknown): Promise<RunRow | undefined> {
  const { live, journal } = context;
  const { logger } = context.deps;
  const reason = live.abort.signal.aborted ? live.abort.signal.reason : error;
  try {
    await journal.idle();
    if (reason instanceof LeaseLostError) return undefined;
    // A store that fails while something is read is as one that fails to commit: the turn has not failed.
    if (reason instanceof CommitFailedError || isStorageFault(reason)) throw reason;
    if (reason instanceof TurnStopped) {
      return reason.reason === 'detached' ? undefined : await endCancelled(context);
    }
    return await failTurn(context, describeFailure(context, reason), cutOffCall(context));
  } catch (failure) {
    // The turn is taken up again from what the store has (see store/replica.ts).
    if (!(failure instanceof LeaseLostError)) {
      logger.error({ err: failure, runId: live.key.runId }, 'a step could not be stored');
    }
    return undefined;
  }
}

/** Keeps what was said until then. */
function endCancelled(context: TurnContext): Promise<RunRow> {
  const { state, call, live, journal } = context;
  const text = `${call?.partial.text ?? ''}`;
  return journal.commit({
    ...cutOffCall(context),
    status: 'cancelled',
    messages: text === '' ? [] : [newMessage(state, live.key.turn, 'assistant', [{ type: 'text', text }])],
    output: closeCalls(renderOutput(state, text)),
    stopReason: 'cancelled',
  });
}

/** The step of a model call that did not finish: what it had used is paid for. */
function cutOffCall({ state, call, tools }: TurnContext): Partial<Commit> {
  if (call === undefined) return {};
  const usage = estimateUsage({ ...call, tools: [...tools.values()] });
  if (usage.outputTokens === 0) return {};
  const record = modelRecord(state, { startedAt: call.startedAt, usage, finish: 'cut_off' });
  return { steps: [record], ...billed(record) };
}

function describeFailure({ deps, live }: TurnContext, error: unknown): RunFailure {
  if (error instanceof ModelCallError) return { code: 'model_request_failed', message: error.message };
  if (error instanceof ApiError) return { code: error.code, message: error.message };
  deps.logger.error({ err: error, runId: live.key.runId }, 'turn failed');
  return { code: 'run_failed', message: 'The turn failed because of an internal error. Start it again.' };
}
