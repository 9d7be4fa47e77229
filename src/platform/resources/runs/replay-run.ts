import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import type { HttpReply, IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { type Engine, getRun, type InputMessage, isSettled, readTurnConfig } from '../../engine/index.ts';
import { findBegun, startTurn } from '../../surfaces/index.ts';
import { type AnswerOptions, answerTurn, claimOf, readPreference } from './answer-turn.ts';
import type { Run, RunPath, RunReplayIn } from './schema.ts';

type Request = ProjectRead<{
  params: RunPath;
  body: RunReplayIn | undefined;
  idempotency: IdempotencyClaim | undefined;
}>;

/** Asks a run's question again, in a new thread that holds the conversation as it stood before that run. */
export function replayRun(engine: Engine) {
  return async ({
    db,
    caller,
    params,
    body,
    headers,
    idempotency,
    ...request
  }: Request): Promise<HttpReply<Run> | EventStream> => {
    const options: AnswerOptions = {
      status: 201,
      stream: body?.stream === true,
      prefer: readPreference(headers.prefer),
      idempotency,
      signal: request.signal,
    };
    const before = await findBegun(engine.db, caller.projectId, idempotency);
    if (before !== undefined) return answerTurn(engine, before, options);
    const original = await getRun(db, params.rid, params.sid);
    if (!isSettled(original.status)) {
      throw new ApiError('replay_unsupported', { message: 'The run has not ended. Replay it when it has.' });
    }
    const { settings } = readTurnConfig(original.config);
    if (settings.tools.mcp !== undefined) {
      const message = 'The run called MCP servers that its request brought, and what they were called with is gone.';
      throw new ApiError('replay_unsupported', { message: `${message} Send the request again.` });
    }
    const begun = await startTurn(engine, {
      projectId: caller.projectId,
      smithId: params.sid,
      input: original.input as unknown as InputMessage[],
      channel: original.channel,
      metadata: original.metadata,
      actor: actorOf(caller),
      reader: null,
      // The stores that a request brought are its caller's to name: this caller may not have the right to them.
      settings: { ...settings, tools: { ...settings.tools, file_search: null } },
      idempotency: claimOf(options),
      replayOf: original,
    });
    return answerTurn(engine, begun, options);
  };
}
