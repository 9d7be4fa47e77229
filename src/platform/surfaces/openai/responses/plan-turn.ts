/**
 * What a request asks for: a new turn, or the answers that a paused run waits for.
 *
 * The paused run is the one that `previous_response_id` or `conversation` names, or that made one of the calls which the
 * input answers: clients that keep no state send the whole history, with the newest results behind it. Results that no
 * paused run waits for are history too, where the input shows the calls that they belong to; and so are decisions that were
 * made before, where more follows them.
 */

import type { Database } from '../../../../kernel/db/database.ts';
import { ApiError } from '../../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../../access/caller.ts';
import { requireScope } from '../../../access/gate.ts';
import { mayRefer } from '../../../access/references.ts';
import type { InputMessage, RunRow, Submission } from '../../../engine/index.ts';
import { tenantDb } from '../../../store/tenant-db.ts';
import type { JsonObject } from '../../../tables.ts';
import { findRunByApproval, findRunByCalls } from '../../find-waiting-run.ts';
import { readResponseId } from '../item-ids.ts';
import type { BroughtList } from '../request-servers.ts';
import { type InputItem, invalid, readInput, toMessages } from './read-input.ts';
import { resolveReferences } from './resolve-references.ts';
import { findRun, listDecided } from './response-store.ts';

export type TurnPlan =
  | {
      readonly kind: 'start';
      readonly messages: readonly InputMessage[];
      /** The input item that each message begins with. */
      readonly places: readonly number[];
      readonly continues: RunRow | undefined;
      /** Lists of MCP servers' tools among the items. */
      readonly lists: readonly BroughtList[];
      readonly conversationId: string | undefined;
    }
  | {
      readonly kind: 'answer';
      readonly run: RunRow;
      readonly submissions: readonly Submission[];
      /** The answers as items. */
      readonly items: readonly JsonObject[];
      readonly conversationId: string | undefined;
    };

/** The smith of the turn, and who asks for it. */
interface Owner {
  readonly caller: ProjectCaller;
  readonly projectId: string;
  readonly smithId: string;
}

type Answer = Extract<InputItem, { kind: 'result' | 'decision' }>;

/** What of a request says which turn it is for. */
export interface PlannedRequest {
  readonly input: string | readonly JsonObject[];
  readonly previousResponseId: string | null | undefined;
  /** One that is the smith's. */
  readonly conversationId: string | undefined;
}

/** A call as a run's output shows it. */
interface ShownCall {
  readonly id: string;
  readonly status: string;
  readonly approval_id?: string;
}

/**
 * Throws `not_found` (the previous response), `invalid_input`, `too_many_inputs`, `invalid_state` (a call that was answered
 * before) and `insufficient_scope`.
 */
export async function planTurn(
  db: Database,
  caller: ProjectCaller,
  smithId: string,
  body: PlannedRequest,
): Promise<TurnPlan> {
  const { conversationId } = body;
  const owner = { caller, projectId: caller.projectId, smithId };
  const previous = await findPrevious(db, owner, body);
  const read = readInput(body.input);
  const answers = answersAmong(read);
  const paused = await findPaused(db, owner, read, { previous, conversationId });
  const open = paused === undefined ? [] : openCallsOf(paused);
  const fitting = answers.filter((answer) => open.some((call) => isAnswerTo(answer, call)));
  const isNamed = previous !== undefined || conversationId !== undefined;
  if (paused !== undefined && fitting.length > 0 && (isNamed || !hasMoreBehind(read, fitting))) {
    if (fitting.some(({ kind }) => kind === 'decision')) requireScope(caller, 'approvals:write');
    // Older answers may be to calls of earlier runs, which references name.
    const items = isNamed
      ? read
      : await withoutPastDecisions(db, owner, await resolveReferences(db, owner, read), fitting);
    checkAnswers(paused, open, items, { isNamed });
    return { kind: 'answer', run: paused, ...describeAnswers(fitting), conversationId };
  }
  if (previous?.status === 'paused') refuseUnanswered(previous);
  const resolved = await resolveReferences(db, owner, read);
  const items = isNamed ? resolved : await withoutPastDecisions(db, owner, resolved, resolved.filter(isMessage));
  checkHistory(items, previous);
  const { messages, places } = toMessages(items);
  const lists = items.flatMap((item) => (item.kind === 'tool_list' ? [item.list] : []));
  return { kind: 'start', messages, places, continues: previous, lists, conversationId };
}

async function findPrevious(
  db: Database,
  { caller, projectId, smithId }: Owner,
  { previousResponseId: id }: PlannedRequest,
): Promise<RunRow | undefined> {
  if (id == null) return undefined;
  const named = mayRefer(caller, 'response') ? readResponseId(id) : undefined;
  const run = named === undefined ? undefined : await findRun(tenantDb(db, projectId), named.runId, smithId);
  if (run !== undefined && run.hidden_at === null) return run;
  throw new ApiError('not_found', {
    param: 'previous_response_id',
    message:
      'This smith has no stored response with the id in `previous_response_id`. Take the `id` of one that was created ' +
      'with `store` and not deleted since.',
  });
}

async function findPaused(
  db: Database,
  { projectId, smithId }: { projectId: string; smithId: string },
  items: readonly InputItem[],
  place: { readonly previous: RunRow | undefined; readonly conversationId: string | undefined },
): Promise<RunRow | undefined> {
  const { previous, conversationId } = place;
  const answers = answersAmong(items);
  if (answers.length === 0) return undefined;
  if (previous !== undefined) return previous.status === 'paused' ? previous : undefined;
  // The newest answer is the last one.
  const answer = answers.at(-1);
  if (answer === undefined) return undefined;
  const where = { projectId, smithId, threadId: conversationId, surface: 'response' as const };
  if (answer.kind === 'decision') return findRunByApproval(db, where, answer.approvalId);
  return findRunByCalls(db, where, [{ callId: answer.callId, name: nameOfCall(items, answer.callId) }]);
}

function nameOfCall(items: readonly InputItem[], callId: string): string | undefined {
  const item = items.findLast((each) => each.kind === 'call' && each.call.id === callId);
  return item?.kind === 'call' ? item.call.name : undefined;
}

function answersAmong(items: readonly InputItem[]): Answer[] {
  return items.filter((item) => item.kind === 'result' || item.kind === 'decision');
}

function callsOf(run: RunRow): readonly ShownCall[] {
  return (run.output?.tool_calls ?? []) as ShownCall[];
}

function openCallsOf(run: RunRow): ShownCall[] {
  return callsOf(run).filter(({ status }) => status === 'requires_result' || status === 'requires_approval');
}

function isAnswerTo(answer: Answer, call: ShownCall): boolean {
  return answer.kind === 'result'
    ? call.status === 'requires_result' && call.id === answer.callId
    : call.status === 'requires_approval' && call.approval_id === answer.approvalId;
}

/** Whether something is said behind the answers: a conversation that went on without this run. */
function hasMoreBehind(items: readonly InputItem[], answers: readonly Answer[]): boolean {
  const last = answers.at(-1)?.index ?? 0;
  return items.some((item) => isMessage(item) && item.index > last);
}

function isMessage({ kind }: InputItem): boolean {
  return kind === 'message';
}

/** The items but for decisions that were made before, and that some of `later` follow. */
async function withoutPastDecisions(
  db: Database,
  { projectId, smithId }: Owner,
  items: readonly InputItem[],
  later: readonly InputItem[],
): Promise<readonly InputItem[]> {
  const end = later.at(-1)?.index ?? 0;
  const before = items.flatMap((item) => (item.kind === 'decision' && item.index < end ? [item.approvalId] : []));
  const decided = await listDecided(tenantDb(db, projectId), smithId, before);
  return items.filter((item) => item.kind !== 'decision' || item.index >= end || !decided.has(item.approvalId));
}

function checkAnswers(
  run: RunRow,
  open: readonly ShownCall[],
  items: readonly InputItem[],
  { isNamed }: { readonly isNamed: boolean },
): void {
  const answers = answersAmong(items);
  const message = items.find((item) => item.kind === 'message');
  if (isNamed && message !== undefined) {
    throw invalid(
      `input.${message.index}`,
      'is a message beside answers to calls: answer the calls alone, and send the message with the next response',
    );
  }
  const known = new Set([...callsOf(run).map(({ id }) => id), ...idsOfCalls(items)]);
  for (const answer of answers) {
    if (answer.kind === 'result' && !known.has(answer.callId)) throw unknownCall(answer);
    if (answer.kind === 'decision' && !open.some((call) => isAnswerTo(answer, call))) throw unknownApproval(answer);
  }
  const unanswered = open.filter(
    (call) => call.status === 'requires_result' && !answers.some((answer) => isAnswerTo(answer, call)),
  );
  if (unanswered.length > 0) throw missingResults(unanswered);
}

/** Of a new turn: results belong to calls that the input shows; decisions belong to a run that waits for them. */
function checkHistory(items: readonly InputItem[], previous: RunRow | undefined): void {
  const known = new Set(idsOfCalls(items));
  const past = new Set(previous === undefined ? [] : callsOf(previous).map(({ id }) => id));
  for (const item of items) {
    if (item.kind === 'decision') throw unknownApproval(item);
    if (item.kind !== 'result' || known.has(item.callId)) continue;
    if (!past.has(item.callId)) throw unknownCall(item);
    throw new ApiError('invalid_state', {
      param: `input.${item.index}.call_id`,
      message: `The call ${item.callId} has been answered already. Go on from the response that followed.`,
    });
  }
}

function refuseUnanswered(run: RunRow): void {
  const waiting = openCallsOf(run).filter(({ status }) => status === 'requires_result');
  if (waiting.length > 0) throw missingResults(waiting);
}

function idsOfCalls(items: readonly InputItem[]): string[] {
  return items.flatMap((item) => (item.kind === 'call' ? [item.call.id] : []));
}

function missingResults(calls: readonly ShownCall[]): ApiError {
  const ids = calls.map(({ id }) => id).join(', ');
  return invalid('input', `must answer every call that waits, each with a function_call_output; missing: ${ids}`);
}

function unknownCall({ index, callId }: { readonly index: number; readonly callId: string }): ApiError {
  return invalid(`input.${index}.call_id`, `answers a call that was never made: ${callId}`);
}

function unknownApproval({ index, approvalId }: { readonly index: number; readonly approvalId: string }): ApiError {
  return invalid(`input.${index}.approval_request_id`, `names no approval that a run waits for: ${approvalId}`);
}

function describeAnswers(answers: readonly Answer[]): { submissions: Submission[]; items: JsonObject[] } {
  return {
    submissions: answers.map((answer) =>
      answer.kind === 'result'
        ? { kind: 'tool_result', toolCallId: answer.callId, result: answer.text }
        : {
            kind: 'approval',
            approvalId: answer.approvalId,
            toolCallId: undefined,
            decision: answer.approve ? 'approve' : 'reject',
            content: answer.content,
            decidedBy: null,
            reason: answer.reason,
          },
    ),
    items: answers.map((answer) =>
      answer.kind === 'result'
        ? { type: 'function_call_output', call_id: answer.callId, output: answer.text }
        : {
            type: 'mcp_approval_response',
            approval_request_id: answer.approvalId,
            approve: answer.approve,
            reason: answer.reason,
            ...(answer.content === null ? {} : { content: answer.content }),
          },
    ),
  };
}
