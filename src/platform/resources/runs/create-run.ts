import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import type { EarlyRequest, HttpReply, IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { isId } from '../../../kernel/ids/ids.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import {
  type ClientTool,
  type Engine,
  loadSmithForTurn,
  parseResponseFormat,
  type SmithForTurn,
  type ToolChoice,
  type TurnSettings,
} from '../../engine/index.ts';
import { createParameterCheck, type ForeignSchemas } from '../../schemas/index.ts';
import type { TenantDatabase } from '../../store/tenant-db.ts';
import { findBegun, startTurn } from '../../surfaces/index.ts';
import { findConversation } from '../conversations/index.ts';
import { type AnswerOptions, answerTurn, claimOf, readPreference } from './answer-turn.ts';
import type { Run, RunIn, SmithPath } from './schema.ts';

type Request = ProjectRead<{
  params: SmithPath;
  body: RunIn;
  idempotency: IdempotencyClaim | undefined;
  ahead: Promise<SmithForTurn | undefined> | undefined;
}>;

/** The smith of the path. */
export function readSmithAhead({ db, params }: EarlyRequest<ProjectCaller, TenantDatabase>) {
  const { sid } = params;
  return isId('smt', sid) ? loadSmithForTurn(db, sid) : undefined;
}

export function createRun(engine: Engine) {
  return async ({
    db,
    caller,
    params,
    body,
    headers,
    idempotency,
    ahead,
    ...request
  }: Request): Promise<HttpReply<Run> | EventStream> => {
    await requireConversation({ db, caller, params, body });
    const options: AnswerOptions = {
      status: 201,
      stream: body.stream === true,
      prefer: readPreference(headers.prefer),
      idempotency,
      signal: request.signal,
    };
    const before = await findBegun(engine.db, caller.projectId, idempotency);
    if (before !== undefined) return answerTurn(engine, before, options);
    const begun = await startTurn(engine, {
      projectId: caller.projectId,
      smithId: params.sid,
      smith: await ahead,
      ...(typeof body.thread_id === 'string' ? { threadId: body.thread_id } : {}),
      input: body.input,
      channel: body.channel ?? 'api',
      metadata: body.metadata ?? {},
      actor: actorOf(caller),
      reader: caller,
      settings: await readSettings(engine.schemas, caller.projectId, body),
      idempotency: claimOf(options),
      // Others may follow the run meanwhile.
      buffered: !options.stream && options.prefer.waitMs !== 0,
      streamed: true,
    });
    return answerTurn(engine, begun, options);
  };
}

/** A thread that is a conversation's takes what getting the conversation takes. Throws `conversation_not_found`. */
async function requireConversation({
  db,
  caller,
  params,
  body,
}: Pick<Request, 'db' | 'caller' | 'params' | 'body'>): Promise<void> {
  const { thread_id: threadId } = body;
  if (!isId('cnv', threadId)) return;
  const conversation = await findConversation(db, caller, threadId, params.sid);
  if (conversation === undefined) throw new ApiError('conversation_not_found', { param: 'thread_id' });
}

async function readSettings(schemas: ForeignSchemas, projectId: string, body: RunIn): Promise<TurnSettings> {
  const checkParameters = createParameterCheck();
  for (const [index, { parameters }] of (body.tools ?? []).entries()) {
    if (parameters !== undefined) checkParameters(parameters, `tools.${index}.parameters`);
  }
  return {
    overrides: {
      ...(body.model === undefined ? {} : { model: body.model }),
      ...(body.instructions === undefined ? {} : { instructions: body.instructions }),
    },
    sampling: { temperature: body.temperature ?? null, top_p: body.top_p ?? null, stop: body.stop ?? [] },
    answer: {
      format: await parseResponseFormat(body.response_format, { schemas, projectId, param: 'response_format' }),
      reasoning_effort: body.reasoning_effort ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
    },
    tools: {
      client: (body.tools ?? []).map(clientTool),
      choice: (body.tool_choice ?? 'auto') as ToolChoice,
      file_search: null,
      pauses_to_connect: true,
    },
  };
}

function clientTool(tool: NonNullable<RunIn['tools']>[number]): ClientTool {
  return {
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    parameters: tool.parameters ?? { type: 'object', properties: {} },
    ...(tool.strict === undefined ? {} : { strict: tool.strict }),
    requires_approval: tool.requires_approval ?? false,
  };
}
