import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import type { HttpReply, IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { type Engine, isToolless, type RunRow, type SmithForTurn } from '../../engine/index.ts';
import { type BegunSegment, findBegun, resumeTurn, startTurn } from '../../surfaces/index.ts';
import {
  answerBuffered,
  answersNothing,
  type ChatInput,
  checkUnused,
  chooseModel,
  findRunForResults,
  headersOf,
  nameMessage,
  prepareTools,
  type ResolvedSmith,
  readFreshCredentials,
  readMessages,
  readReasoningEffort,
  readResponseFormat,
  resolveSmithForTurn,
  streamCompletion,
  type ToolResults,
  UNUSED_IN_COMPLETIONS,
} from '../../surfaces/openai/index.ts';
import type { JsonObject } from '../../tables.ts';
import { findConversation } from '../conversations/index.ts';
import type { ChatCompletion, ChatCompletionIn } from './schema.ts';

export interface ChatDependencies {
  readonly engine: Engine;
  readonly publicUrl: string;
}

type Request = ProjectRead<{
  body: ChatCompletionIn;
  idempotency: IdempotencyClaim | undefined;
  ahead: Promise<SmithForTurn | undefined> | undefined;
}>;

export function createChatCompletion({ engine, publicUrl }: ChatDependencies) {
  return async (request: Request): Promise<HttpReply<ChatCompletion> | EventStream> => {
    const { body, caller, idempotency } = request;
    const warnings = checkUnused(body, UNUSED_IN_COMPLETIONS);
    const begun = (await findBegun(engine.db, caller.projectId, idempotency)) ?? (await startOrResume(engine, request));
    const headers = {
      ...warnings,
      ...headersOf(begun.segment.run),
      ...(begun.claimed === undefined ? {} : { 'idempotent-replay': 'true' }),
    };
    if (body.stream === true) {
      const includeUsage = body.stream_options?.include_usage === true;
      return streamCompletion(engine, begun.segment, { publicUrl, includeUsage, headers });
    }
    const { signal } = request;
    return answerBuffered(engine, begun.segment, { publicUrl, signal, isKeyed: idempotency !== undefined, headers });
  };
}

/** Brings the messages' results to the run that waits for them; without one, starts a turn. */
async function startOrResume(engine: Engine, request: Request): Promise<BegunSegment> {
  const { caller, body } = request;
  const input = readMessages(body.messages);
  const smith = await resolveSmithForTurn(request.db, { ...request, user: body.user });
  const threadId = await findThread(request, smith.id);
  if (input.results !== undefined) {
    const place = { projectId: caller.projectId, smithId: smith.id, threadId };
    const waiting = await findRunForResults(engine.db, place, input.results);
    if (waiting !== undefined) return resume(engine, request, waiting, input.results);
  }
  return start(engine, request, { smith, threadId, input });
}

/** The conversation's thread. Throws `conversation_not_found` for one that is not the smith's. */
async function findThread({ db, caller, body }: Request, smithId: string): Promise<string | undefined> {
  const { conversation } = body;
  if (conversation === undefined || conversation === null) return undefined;
  const id = typeof conversation === 'string' ? conversation : conversation.id;
  const found = await findConversation(db, caller, id, smithId);
  if (found === undefined) throw new ApiError('conversation_not_found', { param: 'conversation' });
  return found.id;
}

async function resume(
  engine: Engine,
  { caller, body, idempotency }: Request,
  run: RunRow,
  { results }: ToolResults,
): Promise<BegunSegment> {
  const key = { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
  return resumeTurn(engine, key, {
    submissions: results.map(({ callId, text }) => ({ kind: 'tool_result', toolCallId: callId, result: text })),
    actor: actorOf(caller),
    idempotency,
    request: echoOf(body),
    credentials: readFreshCredentials(run, body.tools),
    buffered: body.stream !== true,
  });
}

async function start(
  engine: Engine,
  request: Request,
  turn: { readonly smith: ResolvedSmith; readonly threadId: string | undefined; readonly input: ChatInput },
): Promise<BegunSegment> {
  const { db, caller, body, idempotency } = request;
  const { smith, threadId, input } = turn;
  requireCalls(input.results);
  const { tools, credentials } = await prepareTools(engine, request);
  const model = chooseModel(body.model);
  const responseFormat = await readResponseFormat(body.response_format, {
    schemas: engine.schemas,
    projectId: caller.projectId,
    param: 'response_format',
  });
  const asksForSchema = responseFormat.type === 'json' && responseFormat.schema !== undefined;
  const bringsTools = tools.client.length > 0 || tools.file_search !== null || tools.mcp !== undefined;
  const isAlone = !bringsTools && threadId === undefined;
  return startTurn(engine, {
    projectId: caller.projectId,
    smithId: smith.id,
    smith: smith.loaded,
    ...(threadId === undefined ? {} : { threadId }),
    input: input.messages,
    channel: 'api',
    metadata: body.metadata ?? {},
    actor: actorOf(caller),
    reader: caller,
    settings: {
      overrides: {
        ...(model === undefined ? {} : { model }),
        ...(input.instructions === '' ? {} : { instructions: input.instructions }),
      },
      sampling: {
        temperature: body.temperature ?? null,
        top_p: body.top_p ?? null,
        stop: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
      },
      answer: {
        format: responseFormat,
        reasoning_effort: readReasoningEffort(body.reasoning_effort, 'reasoning_effort'),
        max_output_tokens: body.max_completion_tokens ?? body.max_tokens ?? null,
      },
      tools,
    },
    credentials,
    idempotency,
    stateless: asksForSchema && isAlone && (await isToolless(db, smith.id)),
    // A conversation is there to be kept.
    buffered: body.stream !== true,
    surface: { kind: 'chat', request: echoOf(body), stored: body.store ?? threadId !== undefined },
  }).catch((error: unknown) => {
    throw nameMessage(error, input.offset);
  });
}

/** Results that no run waits for are history, and history shows what they answer. */
function requireCalls(results: ToolResults | undefined): void {
  const [first] = results?.results ?? [];
  if (first !== undefined && results?.calls === undefined) throw answersNothing(first.at, first.callId);
}

/** What the request said, for whoever lists the run's requests. */
function echoOf({ model, metadata, user }: ChatCompletionIn): JsonObject {
  return { model: model ?? null, metadata: metadata ?? {}, user: user ?? null };
}
