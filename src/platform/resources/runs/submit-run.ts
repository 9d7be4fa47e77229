import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import type { HttpReply, IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { actorOf } from '../../access/caller.ts';
import { requireScope } from '../../access/gate.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { Engine, Submission } from '../../engine/index.ts';
import { findBegun, resumeTurn } from '../../surfaces/index.ts';
import { type AnswerOptions, answerTurn, claimOf, readPreference } from './answer-turn.ts';
import type { Run, RunPath, Submit } from './schema.ts';

type Request = ProjectRead<{ params: RunPath; body: Submit; idempotency: IdempotencyClaim | undefined }>;

export function submitRun(engine: Engine) {
  return async (request: Request): Promise<HttpReply<Run> | EventStream> => {
    const { caller, params, body, headers, idempotency, signal } = request;
    requireScope(caller, body.kind === 'approval' ? 'approvals:write' : 'runs:write');
    const prefer = readPreference(headers.prefer);
    const options: AnswerOptions = { status: 200, stream: body.stream === true, prefer, idempotency, signal };
    const before = await findBegun(engine.db, caller.projectId, idempotency);
    if (before !== undefined) return answerTurn(engine, before, options);
    const key = { projectId: caller.projectId, smithId: params.sid, runId: params.rid };
    const begun = await resumeTurn(engine, key, {
      submissions: [readSubmission(body)],
      actor: actorOf(caller),
      idempotency: claimOf(options),
    });
    return answerTurn(engine, begun, options);
  };
}

function readSubmission(body: Submit): Submission {
  if (body.kind === 'tool_result') {
    if (body.tool_call_id == null) throw missing('tool_call_id', 'names the call that the result is of');
    if (body.result == null) throw missing('result', 'is the result, an object');
    return { kind: 'tool_result', toolCallId: body.tool_call_id, result: body.result };
  }
  if (body.approval_id == null && body.tool_call_id == null) {
    throw missing('approval_id', 'names what is decided (or give tool_call_id)');
  }
  if (body.decision == null) {
    throw new ApiError('invalid_decision', { param: 'decision', message: '`decision` must be approve or reject.' });
  }
  return {
    kind: 'approval',
    approvalId: body.approval_id ?? undefined,
    toolCallId: body.tool_call_id ?? undefined,
    decision: body.decision,
    content: body.content ?? null,
    decidedBy: body.actor ?? null,
    reason: body.reason ?? null,
  };
}

function missing(param: string, why: string): ApiError {
  return new ApiError('invalid_request', { param, message: `\`${param}\` is required: it ${why}.` });
}
