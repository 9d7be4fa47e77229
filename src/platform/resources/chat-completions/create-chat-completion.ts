import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import type { HttpReply, IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { createTurn, type Engine, isToolless, submitToTurn } from '../../engine/index.ts';
import { findAnsweredRun, markOf } from '../../surfaces/find-answered-run.ts';
import { findPausedRun } from '../../surfaces/find-waiting-run.ts';
import { answerWhole } from '../../surfaces/openai/chat/buffered-completion.ts';
import {
  answersNothing,
  type ChatInput,
  nameMessage,
  readMessages,
  type ToolResults,
} from '../../surfaces/openai/chat/read-messages.ts';
import { answerStreamed } from '../../surfaces/openai/chat/stream-completion.ts';
import {
  chooseModel,
  parseTools,
  type ResolvedSmith,
  readReasoningEffort,
  readResponseFormat,
  requireStores,
  resolveSmithForTurn,
} from '../../surfaces/openai/index.ts';
import { type Stretch, usageOf } from '../../surfaces/read-answer.ts';
import type { JsonObject } from '../../tables.ts';
import { findConversation } from '../conversations/index.ts';
import type { ChatCompletion, ChatCompletionIn } from './schema.ts';

export interface ChatDependencies {
  readonly engine: Engine;
  readonly publicUrl: string;
}

type Request = ProjectRead<{ body: ChatCompletionIn; idempotency: IdempotencyClaim | undefined }>;

export function createChatCompletion({ engine, publicUrl }: ChatDependencies) {
  return async (request: Request): Promise<HttpReply<ChatCompletion> | EventStream> => {
    const { body } = request;
    const input = readMessages(body.messages);
    const smith = await resolveSmithForTurn(request.db, { ...request, user: body.user });
    const threadId = await findThread(request, smith.id);
    const stretch =
      (await goOn(engine, request, { smithId: smith.id, threadId, results: input.results })) ??
      (await begin(engine, request, { smith, threadId, input }));
    if (body.stream === true) {
      const includeUsage = body.stream_options?.include_usage === true;
      return answerStreamed(engine, stretch, { publicUrl, includeUsage });
    }
    return answerWhole(engine, stretch, { publicUrl, signal: request.signal });
  };
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

/** Brings the results to the run that waits for them. Undefined: none does, or there are none. */
async function goOn(
  engine: Engine,
  { caller, body, idempotency }: Request,
  turn: { readonly smithId: string; readonly threadId: string | undefined; readonly results: ToolResults | undefined },
): Promise<Stretch | undefined> {
  const { smithId, threadId, results: given } = turn;
  if (given === undefined) return undefined;
  const { projectId } = caller;
  const mark = idempotency === undefined ? undefined : markOf(idempotency);
  const answered =
    mark === undefined ? undefined : await findAnsweredRun(engine.db, { projectId, smithId }, mark, given);
  if (answered !== undefined) return answered;
  const paused = await findPausedRun(engine.db, { projectId, smithId, threadId }, given);
  if (paused === undefined) return undefined;
  const submissions = given.results.map(({ callId, text }) => ({
    kind: 'tool_result' as const,
    toolCallId: callId,
    result: text,
  }));
  const key = { projectId, smithId, runId: paused.id };
  const echo = { ...echoOf(body), ...(mark === undefined ? {} : { mark }) };
  const buffered = body.stream !== true;
  const { run, lastSeq } = await submitToTurn(engine, key, submissions, actorOf(caller), { echo, buffered });
  return { run, number: paused.requests.length + 1, after: lastSeq, usedBefore: usageOf(paused) };
}

/** A new turn, or the one that the request's `Idempotency-Key` began. */
async function begin(
  engine: Engine,
  request: Request,
  turn: { readonly smith: ResolvedSmith; readonly threadId: string | undefined; readonly input: ChatInput },
): Promise<Stretch> {
  const { caller, body, idempotency } = request;
  const { smith, threadId, input } = turn;
  requireCalls(input.results);
  const { tools, toolChoice, fileSearch } = parseTools(body.tools, body.tool_choice);
  await requireStores(request.db, caller, fileSearch);
  const model = chooseModel(body.model);
  const responseFormat = readResponseFormat(body.response_format, 'response_format');
  const asksForSchema = responseFormat.type === 'json' && responseFormat.schema !== undefined;
  const isAlone = tools.length === 0 && fileSearch === undefined && threadId === undefined;
  const { run } = await createTurn(engine, {
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
      tools: { client: tools, choice: toolChoice, file_search: fileSearch ?? null },
    },
    idempotency,
    stateless: asksForSchema && isAlone && (await isToolless(request.db, smith.id)),
    // A conversation is there to be kept.
    buffered: body.stream !== true,
    surface: { kind: 'chat', request: echoOf(body), stored: body.store ?? threadId !== undefined },
  }).catch((error: unknown) => {
    throw nameMessage(error, input.offset);
  });
  return { run, number: 1, after: 1, usedBefore: { inputTokens: 0, outputTokens: 0 } };
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
