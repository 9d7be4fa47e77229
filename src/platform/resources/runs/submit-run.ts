import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { actorOf } from '../../access/caller.ts';
import { requireScope } from '../../access/gate.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { type Engine, type Submission, submitToTurn } from '../../engine/index.ts';
import { answerWithRun, readPreference, streamAfter } from './answer-turn.ts';
import type { Run, RunPath, Submit } from './schema.ts';

type Request = ProjectRead<{ params: RunPath; body: Submit }>;

export function submitRun(engine: Engine) {
  return async ({ caller, params, body, headers, ...request }: Request): Promise<HttpReply<Run> | EventStream> => {
    if (body.kind === 'approval') requireScope(caller, 'approvals:write');
    const key = { projectId: caller.projectId, smithId: params.sid, runId: params.rid };
    const { run, live, lastSeq } = await submitToTurn(engine, key, [readSubmission(body)], actorOf(caller));
    if (body.stream === true) return streamAfter(engine, run, lastSeq);
    return answerWithRun(engine, run, live, {
      status: 200,
      prefer: readPreference(headers.prefer),
      signal: request.signal,
    });
  };
}

function readSubmission(body: Submit): Submission {
  if (body.kind === 'tool_result') {
    if (body.tool_call_id === undefined) throw missing('tool_call_id', 'names the call that the result is of');
    if (body.result === undefined || body.result === null) throw missing('result', 'is the result, an object');
    return { kind: 'tool_result', toolCallId: body.tool_call_id, result: body.result };
  }
  if (body.approval_id === undefined && body.tool_call_id === undefined) {
    throw missing('approval_id', 'names what is decided (or give tool_call_id)');
  }
  if (body.decision === undefined) {
    throw new ApiError('invalid_decision', { param: 'decision', message: '`decision` must be approve or reject.' });
  }
  return {
    kind: 'approval',
    approvalId: body.approval_id,
    toolCallId: body.tool_call_id,
    decision: body.decision,
    content: body.content ?? null,
    decidedBy: body.actor ?? null,
    reason: body.reason ?? null,
  };
}

function missing(param: string, why: string): ApiError {
  return new ApiError('invalid_request', { param, message: `\`${param}\` is required: it ${why}.` });
}
