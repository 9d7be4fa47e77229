/**
 * Answers what a paused run waits for: the result of a client-side tool, a person's decision on a gated call, or the answer
 * to a call's question. The answer, its event and the run's new state commit together; when the smith is busy with another turn, nothing is kept
 * and the caller tries again.
 */

import type { Transaction } from '../../../kernel/db/database.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { throwIfSpent } from '../../budgets/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { PieceByPieceEstimate } from '../../models/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { Actor, JsonObject } from '../../tables.ts';
import { insertMessage } from '../../threads/index.ts';
import type { Engine } from '../engine.ts';
import { forgetConnectionWait } from '../store/connection-waits.ts';
import { type AnsweringRequest, resumeRun, stayPaused } from '../store/leave-pause.ts';
import { findWorkingReplica } from '../store/replica.ts';
import { holdersOf, loadTurn, type ResumableTurn } from '../store/resume-turn.ts';
import { type RunRow, turnKeyOf } from '../store/run-row.ts';
import { conversationLocked } from '../store/start-turn.ts';
import { type ClaimedTurn, findClaimedTurn } from '../store/turn-claims.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import { isWaiting, type ToolStep } from '../turn.ts';
import { checkAnswers } from './check-answers.ts';
import type { Submission } from './submission.ts';

/** `duplicate`: another request with the idempotency key came first. */
export type SubmittedTurn =
  | {
      readonly kind: 'submitted';
      readonly run: RunRow;
      /** The resumed execution; undefined while the run waits for more, or where another replica executes it. */
      readonly live: LiveTurn | undefined;
    }
  | { readonly kind: 'duplicate'; readonly claimed: ClaimedTurn };

/** What the surface of the request adds. */
export interface SubmittingRequest extends AnsweringRequest {
  /** As of `TurnRequest`. */
  readonly buffered?: boolean;
}

/**
 * All submissions are recorded together or none is. Throws `not_found` (run, call or approval), `invalid_input` (an answer
 * that is not what the question asks for, an approval that is not of the call beside it), `run_not_paused`, `run_cancelled`,
 * `invalid_state` (a call that was answered before, or waits for its approval first), `budget_exceeded`, `card_required`,
 * `insufficient_credits` and `conversation_locked`.
 */
export async function submitToTurn(
  engine: Engine,
  run: { readonly projectId: string; readonly smithId: string; readonly runId: string },
  submissions: readonly Submission[],
  actor: Actor,
  submitting: SubmittingRequest = {},
): Promise<SubmittedTurn> {
  const admission = engine.admit(run.projectId);
  try {
    // Before the transaction: the refusal is told on the feed.
    await engine.credits.checkProject(run.projectId);
    const answers = await checkAnswers(engine, run, submissions);
    const { row, turn } = await engine.heartbeat.during(() =>
      engine.db.transaction((tx) => record(engine, tx, run, answers, actor, submitting)),
    );
    const buffered = submitting.buffered === true;
    const isOurs = row.status === 'in_progress' && row.replica_id === engine.replicaId;
    const live = isOurs
      ? engine.execute({ key: turnKeyOf(row), lastSeq: turn.lastSeq, state: turn.state, admission, buffered })
      : undefined;
    if (live === undefined) admission.release();
    if (row.status === 'in_progress' && live === undefined && row.replica_id !== null) {
      await engine.handOver({ replicaId: row.replica_id, projectId: row.project_id, runId: row.id });
    }
    engine.signals.announce([row.id]);
    return { kind: 'submitted', run: row, live };
  } catch (error) {
    admission.release();
    // What the key stands for may be what kept this request from being carried out.
    const claimed = await findClaimedTurn(engine.db, run.projectId, submitting.idempotency);
    if (claimed !== undefined) return { kind: 'duplicate', claimed };
    if (isUniqueViolation(error, 'runs_one_turn_per_smith')) throw conversationLocked();
    throw error;
  }
}

async function record(
  engine: Engine,
  tx: Transaction,
  { projectId, smithId, runId }: { readonly projectId: string; readonly smithId: string; readonly runId: string },
  submissions: readonly Submission[],
  actor: Actor,
  submitting: SubmittingRequest,
): Promise<{ row: RunRow; turn: ResumableTurn }> {
  const run = await lockPausedRun(tx, projectId, smithId, runId);
  const before = await loadTurn(tx, run);
  let turn = before;
  for (const submission of submissions) {
    const step = findStep(turn.state.calls, submission);
    if (step.holder !== undefined) await requireHolder(tx, step.holder);
    if (submission.kind === 'tool_result') await recordResult(tx, run, turn, step, submission.result);
    else if (step.status === 'connection') await recordRefusalToConnect(tx, run, turn, step, submission.reason);
    else await recordDecision(tx, run, turn, step, submission, actor);
    turn = await loadTurn(tx, run);
  }
  const waits = turn.state.openCalls.some(isWaiting);
  // Refused as a whole, so that it can be sent again once the budget has room.
  if (!waits) throwIfSpent(turn.budgets);
  const left = { run, seq: before.lastSeq, submitting, sealedCredentials: sealFresh(engine, run, submitting) };
  if (waits) return { row: await stayPaused(tx, left, turn), turn };
  const executing = (await findWorkingReplica(tx, holdersOf(turn))) ?? engine.replicaId;
  return { row: await resumeRun(tx, left, executing), turn };
}

/** A call is held open by the server that asked: without it the answer would reach nobody. */
async function requireHolder(tx: Transaction, holder: string): Promise<void> {
  if ((await findWorkingReplica(tx, [holder])) !== undefined) return;
  throw new ApiError('invalid_state', {
    param: 'approval_id',
    message:
      'Nobody waits for this answer any more: the server that held the call has gone. The question closes, and the run goes on by itself; follow it.',
  });
}

/** Undefined: the request brought none. */
function sealFresh({ requestServers }: Engine, run: RunRow, { credentials }: SubmittingRequest): string | undefined {
  if (credentials === undefined || credentials.size === 0) return undefined;
  return requestServers.seal({ projectId: run.project_id, runId: run.id }, credentials, run.sealed_mcp_credentials);
}

/** A run of an archived smith can be read and cancelled, but does not go on. */
async function lockPausedRun(tx: Transaction, projectId: string, smithId: string, runId: string): Promise<RunRow> {
  const { rows } = await tx.query<RunRow>({
    text: `
      select * from runs
      where project_id = $1 and id = $2 and smith_id = $3
        and exists (select from smiths s where s.project_id = $1 and s.id = $3 and s.archived_at is null)
      for update`,
    values: [projectId, runId, smithId],
  });
  const run = rows[0];
  if (run === undefined) throw new ApiError('not_found');
  if (run.status === 'cancelled') throw new ApiError('run_cancelled');
  if (run.status !== 'paused') throw new ApiError('run_not_paused');
  return run;
}

function findStep(calls: readonly ToolStep[], submission: Submission): ToolStep {
  const step = calls.find((call) =>
    submission.kind === 'approval' && submission.approvalId !== undefined
      ? call.approvalId === submission.approvalId
      : call.callId === submission.toolCallId,
  );
  const param = submission.kind === 'approval' && submission.approvalId !== undefined ? 'approval_id' : 'tool_call_id';
  if (step === undefined) throw new ApiError('not_found', { param, message: 'This run has no such call.' });
  // Only where both are named can they differ.
  if (submission.toolCallId !== undefined && submission.toolCallId !== step.callId) {
    throw new ApiError('invalid_input', {
      param: 'tool_call_id',
      message: '`approval_id` is the approval of another call. Give one of the two, or both of the same call.',
    });
  }
  const expected = submission.kind === 'approval' ? 'approval' : 'waiting';
  if (step.status === expected || isRefusalToConnect(step, submission)) return step;
  throw new ApiError('invalid_state', { param, message: describeState(step) });
}

/** Nobody connects the account that the call waits for. */
function isRefusalToConnect({ status }: ToolStep, submission: Submission): boolean {
  return status === 'connection' && submission.kind === 'approval' && submission.decision === 'reject';
}

function describeState({ status }: ToolStep): string {
  switch (status) {
    case 'approval':
      return 'This call waits for an approval first.';
    case 'waiting':
      return 'This call waits for its result: submit a `tool_result`.';
    case 'connection':
      return 'This call waits until an account is connected, and goes on by itself then. Only `reject` answers it: the model is told, and the turn goes on.';
    default:
      return 'This call has been answered already.';
  }
}

async function recordResult(
  tx: Transaction,
  run: RunRow,
  turn: ResumableTurn,
  step: ToolStep,
  result: JsonObject | string,
) {
  const isText = typeof result === 'string';
  await completeStep(tx, run, step, json(isText ? { text: result } : result), null);
  await insertResultMessage(tx, run, turn, step, { type: isText ? 'text' : 'json', value: result });
}

async function recordDecision(
  tx: Transaction,
  run: RunRow,
  turn: ResumableTurn,
  step: ToolStep,
  decision: Extract<Submission, { kind: 'approval' }>,
  actor: Actor,
): Promise<void> {
  const approved = decision.decision === 'approve';
  await tx.query({
    text: `
      update approvals set status = $4, actor = $5, reason = $6, content = $7, resolved_at = now()
      where project_id = $1 and run_id = $2 and id = $3 and status = 'pending'`,
    values: [
      run.project_id,
      run.id,
      step.approvalId,
      approved ? 'approved' : 'rejected',
      decision.decidedBy ?? actor.id,
      decision.reason,
      decision.content === null ? null : json(decision.content),
    ],
  });
  // Who asked a question is told of a refusal as well.
  if (approved || step.question !== undefined) {
    const isClients = turn.state.config.settings.tools.client.some((tool) => tool.name === step.name);
    await tx.query({
      text: 'update run_steps set status = $4 where project_id = $1 and run_id = $2 and position = $3',
      values: [run.project_id, run.id, step.position, isClients ? 'waiting' : 'ready'],
    });
  } else {
    const why = `A person rejected this call${decision.reason === null ? '.' : `: ${decision.reason}`}`;
    await completeStep(tx, run, step, null, why);
    await insertResultMessage(tx, run, turn, step, { type: 'execution-denied', reason: why });
  }
  const data = {
    approval_id: step.approvalId,
    decision: decision.decision,
    actor: decision.decidedBy ?? actor.id,
    content: decision.content,
  };
  await tx.query({
    text: `insert into run_events (project_id, run_id, seq, type, data) values ($1, $2, $3, 'approval.resolved', $4)`,
    values: [run.project_id, run.id, turn.lastSeq + 1, json(data)],
  });
  await appendEvent(tenantDb(tx, run.project_id), {
    type: 'approval.resolved',
    smithId: run.smith_id,
    actor: run.actor,
    data: { run_id: run.id, thread_id: run.thread_id, ...data },
  });
}

async function recordRefusalToConnect(
  tx: Transaction,
  run: RunRow,
  turn: ResumableTurn,
  step: ToolStep,
  reason: string | null,
): Promise<void> {
  const why = `No account was connected, so this call was not made${reason === null ? '.' : `: ${reason}`}`;
  await forgetConnectionWait(tx, { projectId: run.project_id, runId: run.id }, step.callId);
  await completeStep(tx, run, step, null, why);
  await insertResultMessage(tx, run, turn, step, { type: 'execution-denied', reason: why });
}

async function completeStep(tx: Transaction, run: RunRow, step: ToolStep, output: string | null, error: string | null) {
  await tx.query({
    text: `
      update run_steps set status = 'completed', output = $4, error = $5, finished_at = now()
      where project_id = $1 and run_id = $2 and position = $3`,
    values: [run.project_id, run.id, step.position, output, error],
  });
}

async function insertResultMessage(tx: Transaction, run: RunRow, turn: ResumableTurn, step: ToolStep, output: unknown) {
  const content = [{ type: 'tool-result', toolCallId: step.callId, toolName: step.name, output }];
  const tokens = await new PieceByPieceEstimate().estimate({ role: 'tool', content } as never);
  await insertMessage(tenantDb(tx, run.project_id), run, turn.state.nextMessage, { role: 'tool', content, tokens });
}
