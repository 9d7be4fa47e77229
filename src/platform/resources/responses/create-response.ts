import { systemClock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import { HttpReply, type IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { type Engine, isToolless, type SmithForTurn } from '../../engine/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { type BegunSegment, findBegun, resumeTurn, startTurn } from '../../surfaces/index.ts';
import {
  awaitResponse,
  beginFold,
  checkUnused,
  chooseModel,
  describeRequest,
  findListingRuns,
  invalid,
  placeError,
  planTurn,
  prepareTools,
  type ResolvedSmith,
  readFreshCredentials,
  readReasoningEffort,
  readResponseFormat,
  refuseBegun,
  resolveSmithForTurn,
  responseOf,
  streamResponse,
  type TurnPlan,
  UNUSED_IN_RESPONSES,
} from '../../surfaces/openai/index.ts';
import { findConversation } from '../conversations/index.ts';
import type { Response, ResponseIn } from './schema.ts';

type Request = ProjectRead<{
  body: ResponseIn;
  idempotency: IdempotencyClaim | undefined;
  ahead: Promise<SmithForTurn | undefined> | undefined;
}>;
type Answer = HttpReply<Response> | EventStream;

export function createResponse(engine: Engine) {
  return async (request: Request): Promise<Answer> => {
    const { body, signal } = request;
    if (body.background === true && body.store === false) {
      throw new ApiError('unsupported_background', {
        param: 'background',
        message: 'A background response is there to be retrieved. Leave `store` out, or do not ask for `background`.',
      });
    }
    const { caller, idempotency } = request;
    const warnings = checkUnused(body, UNUSED_IN_RESPONSES);
    const begun = (await findBegun(engine.db, caller.projectId, idempotency)) ?? (await startOrResume(engine, request));
    const headers = { ...warnings, ...(begun.claimed === undefined ? {} : { 'idempotent-replay': 'true' }) };
    const segment = responseOf(begun.segment);
    if (body.stream === true) return streamResponse(engine, segment, { headers });
    const answering =
      body.background === true
        ? beginFold(request.db, segment).then((fold) => fold.response)
        : awaitResponse(engine, begun, signal);
    const response = await answering.catch((error: unknown) => {
      throw refuseBegun(error, { isKeyed: idempotency !== undefined });
    });
    return new HttpReply(200, response as Response, headers);
  };
}

async function startOrResume(engine: Engine, request: Request): Promise<BegunSegment> {
  const { caller, body } = request;
  const smith = await resolveSmithForTurn(request.db, { ...request, user: body.user });
  const conversationId = await findConversationId(request.db, caller, smith.id, body);
  const plan = await planTurn(engine.db, caller, smith.id, {
    input: body.input,
    previousResponseId: body.previous_response_id,
    conversationId,
  });
  return plan.kind === 'answer' ? resume(engine, request, plan) : start(engine, request, smith, plan);
}

/** Throws `conversation_not_found`, `invalid_input`, and `invalid_request` beside a previous response. */
async function findConversationId(
  db: TenantDb,
  caller: ProjectCaller,
  smithId: string,
  { conversation, previous_response_id: previous }: ResponseIn,
): Promise<string | undefined> {
  if (conversation == null) return undefined;
  if (previous != null) {
    throw new ApiError('invalid_request', {
      param: 'conversation',
      message: 'Give `previous_response_id` or `conversation`, not both: each says where the response goes on.',
    });
  }
  const id = typeof conversation === 'string' ? conversation : conversation.id;
  if (typeof id !== 'string') throw invalid('conversation', 'must be the id of a conversation, or an object with `id`');
  const row = await findConversation(db, caller, id, smithId);
  if (row === undefined) throw new ApiError('conversation_not_found', { param: 'conversation' });
  return row.id;
}

/** Brings the paused run what it waits for. */
async function resume(
  engine: Engine,
  { caller, body, idempotency }: Request,
  { run, submissions, items, conversationId }: Extract<TurnPlan, { kind: 'answer' }>,
): Promise<BegunSegment> {
  const credentials = readFreshCredentials(run, body.tools);
  const key = { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
  return resumeTurn(engine, key, {
    submissions,
    actor: actorOf(caller),
    idempotency,
    request: describeRequest(body, { nowMs: systemClock.now().getTime(), conversationId, answers: items }),
    credentials,
    buffered: isAwaited(body),
  });
}

async function start(
  engine: Engine,
  request: Request,
  smith: ResolvedSmith,
  plan: Extract<TurnPlan, { kind: 'start' }>,
): Promise<BegunSegment> {
  const { db, caller, body, idempotency } = request;
  const { projectId } = caller;
  const { continues, conversationId } = plan;
  const { tools, credentials } = await prepareTools(engine, request, async () => ({
    brought: plan.lists,
    runs: await findListingRuns(db, smith.id, plan),
  }));
  const model = chooseModel(body.model);
  const responseFormat = await readResponseFormat(body.text?.format, {
    schemas: engine.schemas,
    projectId,
    param: 'text.format',
  });
  const isAlone = body.tools == null && continues === undefined && conversationId === undefined;
  const isOneShot = isAlone && responseFormat.type === 'json' && responseFormat.schema !== undefined;
  return startTurn(engine, {
    projectId,
    smithId: smith.id,
    smith: smith.loaded,
    ...(conversationId === undefined ? {} : { threadId: conversationId }),
    ...(continues === undefined ? {} : { continues }),
    input: plan.messages,
    channel: 'api',
    metadata: body.metadata ?? {},
    actor: actorOf(caller),
    reader: caller,
    settings: {
      overrides: {
        ...(model === undefined ? {} : { model }),
        ...(body.instructions == null ? {} : { instructions: body.instructions }),
      },
      sampling: { temperature: body.temperature ?? null, top_p: body.top_p ?? null, stop: [] },
      answer: {
        format: responseFormat,
        reasoning_effort: readReasoningEffort(body.reasoning?.effort, 'reasoning.effort'),
        max_output_tokens: body.max_output_tokens ?? null,
      },
      tools,
    },
    credentials,
    idempotency,
    stateless: isOneShot && (await isToolless(db, smith.id)),
    buffered: isAwaited(body),
    surface: {
      kind: 'response',
      stored: body.store !== false,
      request: describeRequest(body, { nowMs: systemClock.now().getTime(), conversationId, answers: null }),
    },
  }).catch((error: unknown) => {
    throw placeError(error, plan.places);
  });
}

/** Whether the caller waits for the end and reads nothing before it; a background response may be followed meanwhile. */
function isAwaited({ stream, background }: ResponseIn): boolean {
  return stream !== true && background !== true;
}
