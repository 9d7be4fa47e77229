import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
import { HttpReply, type IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import {
  createTurn,
  type Engine,
  getRun,
  isToolless,
  type LiveTurn,
  type RunRow,
  submitToTurn,
} from '../../engine/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import {
  chooseModel,
  parseTools,
  type ResolvedSmith,
  readReasoningEffort,
  readResponseFormat,
  requireStores,
  resolveSmithForTurn,
} from '../../surfaces/openai/index.ts';
import { awaitResponse, streamResponse } from '../../surfaces/openai/responses/answer-response.ts';
import { planTurn, type TurnPlan } from '../../surfaces/openai/responses/plan-turn.ts';
import { invalid, placeError } from '../../surfaces/openai/responses/read-input.ts';
import { describeRequest, requestsOf } from '../../surfaces/openai/responses/response-request.ts';
import { foldStored, loadStretch, type Stretch } from '../../surfaces/openai/responses/response-segment.ts';
import { countPauses, findClaimedRun, keepClaim } from '../../surfaces/openai/responses/response-store.ts';
import { findConversation } from '../conversations/index.ts';
import type { Response, ResponseIn } from './schema.ts';

type Request = ProjectRead<{ body: ResponseIn; idempotency: IdempotencyClaim | undefined }>;
type Answer = HttpReply<Response> | EventStream;

interface Begun {
  readonly run: RunRow;
  readonly number: number;
  readonly live: LiveTurn | undefined;
  readonly isRepeated: boolean;
}

export function createResponse(engine: Engine) {
  return async (request: Request): Promise<Answer> => {
    const { body, signal } = request;
    if (body.background === true && body.store === false) {
      throw new ApiError('unsupported_background', {
        param: 'background',
        message: 'A background response is there to be retrieved. Leave `store` out, or do not ask for `background`.',
      });
    }
    const { run, number, live, isRepeated } = (await findRepeated(engine, request)) ?? (await begin(engine, request));
    const stretch = await requireStretch(engine, run, number);
    const headers = isRepeated ? { 'idempotent-replay': 'true' } : {};
    if (body.stream === true) return streamResponse(engine, stretch, { headers });
    const response =
      body.background === true
        ? ((await foldStored(engine.db, stretch)).response as Response)
        : ((await awaitResponse(engine, stretch, live, signal)) as Response);
    return new HttpReply(200, response, headers);
  };
}

async function requireStretch({ db }: Engine, run: RunRow, number: number): Promise<Stretch> {
  const stretch = await loadStretch(db, run, number);
  if (stretch === undefined) throw new Error(`Run ${run.id} has no stretch ${number}`);
  return stretch;
}

/** What the request's `Idempotency-Key` began before. Throws `idempotency_key_reused` when that was another request. */
async function findRepeated({ db }: Engine, { caller, idempotency }: Request): Promise<Begun | undefined> {
  if (idempotency === undefined) return undefined;
  const claimed = await findClaimedRun(db, caller.projectId, idempotency);
  if (claimed === undefined) return undefined;
  if (claimed.fingerprint !== idempotency.fingerprint) throw new ApiError('idempotency_key_reused');
  const run = await getRun(db, caller.projectId, claimed.run_id);
  const number = requestsOf(run).find(({ key }) => key === idempotency.key)?.stretch ?? 1;
  return { run, number, live: undefined, isRepeated: true };
}

async function begin(engine: Engine, request: Request): Promise<Begun> {
  const { caller, body } = request;
  const smith = await resolveSmithForTurn(request.db, { ...request, user: body.user });
  const conversationId = await findConversationId(request.db, caller, smith.id, body);
  const plan = await planTurn(engine.db, caller, smith.id, {
    input: body.input,
    previousResponseId: body.previous_response_id,
    conversationId,
  });
  return plan.kind === 'answer' ? goOn(engine, request, plan) : start(engine, request, smith, plan);
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
async function goOn(
  engine: Engine,
  { caller, body, idempotency }: Request,
  plan: Extract<TurnPlan, { kind: 'answer' }>,
): Promise<Begun> {
  const { db } = engine;
  const { projectId } = caller;
  const number = (await countPauses(db, plan.run)) + 1;
  const { run, live } = await submitToTurn(
    engine,
    { projectId, smithId: plan.run.smith_id, runId: plan.run.id },
    plan.submissions,
    actorOf(caller),
    {
      echo: describeRequest(body, {
        stretch: number,
        nowMs: Date.now(),
        conversationId: plan.conversationId,
        answers: plan.items,
        idempotency,
      }),
      buffered: isAwaited(body),
    },
  );
  if (idempotency !== undefined) await keepClaim(db, projectId, idempotency, run.id);
  return { run: await getRun(db, projectId, run.id), number, live, isRepeated: false };
}

async function start(
  engine: Engine,
  { db, caller, body, idempotency }: Request,
  smith: ResolvedSmith,
  plan: Extract<TurnPlan, { kind: 'start' }>,
): Promise<Begun> {
  const { projectId } = caller;
  const { continues, conversationId } = plan;
  const { tools, toolChoice, fileSearch } = parseTools(body.tools, body.tool_choice);
  await requireStores(db, caller, fileSearch);
  const model = chooseModel(body.model);
  const responseFormat = readResponseFormat(body.text?.format, 'text.format');
  const isAlone = body.tools == null && continues === undefined && conversationId === undefined;
  const isOneShot = isAlone && responseFormat.type === 'json' && responseFormat.schema !== undefined;
  const nowMs = Date.now();
  const created = await createTurn(engine, {
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
      tools: { client: tools, choice: toolChoice, file_search: fileSearch ?? null },
    },
    idempotency,
    stateless: isOneShot && (await isToolless(db, smith.id)),
    buffered: isAwaited(body),
    surface: {
      kind: 'response',
      stored: body.store !== false,
      request: describeRequest(body, { stretch: 1, nowMs, conversationId, answers: null, idempotency }),
    },
  }).catch((error: unknown) => {
    throw placeError(error, plan.places);
  });
  const { run } = created;
  if (created.kind === 'started') return { run, number: 1, live: created.live, isRepeated: false };
  return { run, number: 1, live: undefined, isRepeated: true };
}

/** Whether the caller waits for the end and reads nothing before it; a background response may be followed meanwhile. */
function isAwaited({ stream, background }: ResponseIn): boolean {
  return stream !== true && background !== true;
}
