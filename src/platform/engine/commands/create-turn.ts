/** Starts a turn on a smith, whatever surface asks for it. */
import type { Database } from '../../../kernel/db/database.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { effectiveConfig } from '../../configuration/effective-config.ts';
import { renderInstructions } from '../../configuration/render-instructions.ts';
import { isReasoningEffort, parseModelId, REASONING_EFFORTS } from '../../models/index.ts';
import type { Actor, JsonObject } from '../../tables.ts';
import { FILE_SEARCH } from '../../tools/file-search.ts';
import type { FileSearchConfig } from '../../tools/tool.ts';
import type { Admission, Engine } from '../engine.ts';
import { attachFiles } from '../input/attached-files.ts';
import { type InputMessage, parseInput } from '../input/parse-input.ts';
import { forkThread } from '../store/fork-thread.ts';
import { getRun } from '../store/get-run.ts';
import { loadSmithForTurn, type SmithForTurn } from '../store/load-smith-turn.ts';
import type { RunRow, Surface } from '../store/run-row.ts';
import { type NewTurn, startTurn, type TurnStart } from '../store/start-turn.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { ClientTool, ResponseFormat, ToolChoice, TurnConfig, TurnOverrides } from '../turn.ts';

export interface TurnRequest {
  readonly projectId: string;
  readonly smithId: string;
  /** The smith, where the caller has just read it. */
  readonly smith?: SmithForTurn | undefined;
  /** Absent: a new thread. */
  readonly threadId?: string;
  readonly input: readonly InputMessage[];
  readonly channel: string;
  readonly metadata: JsonObject;
  readonly actor: Actor | null;
  readonly overrides: TurnOverrides;
  readonly tools: readonly ClientTool[];
  readonly toolChoice: ToolChoice;
  readonly responseFormat: ResponseFormat;
  readonly reasoningEffort: string | null;
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly stop: readonly string[];
  readonly idempotency?: IdempotencyClaim | undefined;
  /** Asks this run's question again, in a new thread that holds the conversation as it stood before it. */
  readonly replayOf?: RunRow;
  /** Goes on behind this run: in its thread where it is the last of it, else in a copy that ends with it. */
  readonly continues?: RunRow;
  /** Stores to search, in place of the smith's own. */
  readonly fileSearch?: FileSearchConfig;
  /** Neither the smith's memory nor its stores: the answer rests on the request alone. */
  readonly stateless?: boolean;
  /** Default: a native run. */
  readonly surface?: TurnSurface;
  /** The caller waits for the end and reads nothing before it: the model may be asked for its answers in one piece. */
  readonly whole?: boolean;
}

/** The surface that starts a turn, and what it needs to show the turn again. */
export interface TurnSurface {
  readonly kind: Surface;
  readonly request: JsonObject;
  /** False: the turn is not to be retrieved later. */
  readonly stored: boolean;
}

/** `duplicate`: the idempotency key had started this run before. */
export type CreatedTurn =
  | { readonly kind: 'started'; readonly run: RunRow; readonly live: LiveTurn }
  | { readonly kind: 'duplicate'; readonly run: RunRow };

/**
 * Tries again when a turn of the same smith ended between two reads of one statement, or items that are being added to its
 * conversation took the turn's number: each time, somebody else has got on.
 */
const START_TRIES = 20;

/**
 * Throws `not_found`, `agent_unpublished`, `invalid_input`, `invalid_variables`, `invalid_tool_choice`,
 * `invalid_reasoning_effort`, `model_key_missing`, `bedrock_unconfigured`, `conversation_locked`,
 * `concurrency_limit_exceeded`, `idempotency_key_reused`, and `replay_unsupported` for a replay.
 */
export async function createTurn(engine: Engine, request: TurnRequest): Promise<CreatedTurn> {
  const { db } = engine;
  const { projectId, idempotency } = request;
  const duplicate = await findDuplicate(db, projectId, idempotency);
  if (duplicate !== undefined) return { kind: 'duplicate', run: duplicate };
  const admission = engine.admit(projectId);
  try {
    return await startAdmitted(engine, request, admission);
  } catch (error) {
    admission.release();
    throw error;
  }
}

async function startAdmitted(engine: Engine, request: TurnRequest, admission: Admission): Promise<CreatedTurn> {
  const { db } = engine;
  const { projectId, smithId, idempotency } = request;
  const parsed = parseInput(request.input);
  const smith = request.smith ?? (await loadSmithForTurn(db, projectId, smithId));
  if (smith === undefined) throw new ApiError('not_found');
  const config = configureTurn(smith, request);
  const model = await engine.models.open(projectId, config.model, smith.model_keys).catch((error: unknown) => {
    throw faultOfModel(error);
  });
  const { input, messages } = await attachFiles(engine.files, { projectId, smithId }, request.input, parsed);
  const turn: NewTurn = {
    projectId,
    runId: mintId('run'),
    smithId,
    threadId: await chooseThread(db, request),
    agentId: smith.agent_id,
    agentVersion: smith.agent_version,
    channel: request.channel,
    input: input as unknown as JsonObject[],
    messages,
    config,
    metadata: request.metadata,
    actor: request.actor,
    replayOf: request.replayOf?.id ?? null,
    replicaId: engine.replicaId,
    surface: request.surface?.kind ?? 'run',
    request: request.surface?.request ?? null,
    forgotten: request.surface?.stored === false,
    idempotency,
    untold: request.whole === true && db.kind === 'server',
  };
  const start = await startOrFindDuplicate(db, turn, forkOf(request, turn.threadId));
  if ('duplicate' in start) {
    admission.release();
    return { kind: 'duplicate', run: start.duplicate };
  }
  const own = messages.map((message, position) => ({ ...message, turn: start.turn, position }));
  const live = engine.execute({
    key: { projectId, smithId, threadId: turn.threadId, runId: turn.runId, turn: start.turn, attempt: 1 },
    lastSeq: 1,
    admission,
    model,
    whole: request.whole === true,
    state: {
      config,
      actor: request.actor,
      history: { ...start.history, messages: [...start.history.messages, ...own] },
      openCalls: [],
      calls: [],
      nextPosition: 0,
      nextMessage: own.length,
      modelCalls: 0,
      usage: { input_tokens: 0, output_tokens: 0, cost_micros: null },
      warnings: [],
    },
  });
  return { kind: 'started', live, run: startedRow(turn, start) };
}

function configureTurn(smith: SmithForTurn, request: TurnRequest): TurnConfig {
  if (smith.agent_id !== null && smith.agent_snapshot === null) throw new ApiError('agent_unpublished');
  const config = effectiveConfig(smith.config, smith.agent_snapshot);
  const rendered = renderInstructions(config.instructions, smith.agent_snapshot?.variables ?? [], smith.metadata);
  if (rendered.missing.length > 0) {
    throw new ApiError('invalid_variables', {
      param: 'metadata',
      message: `Set these members of the smith's metadata first: ${rendered.missing.join(', ')}.`,
      details: { missing: rendered.missing },
    });
  }
  const fileSearch = chooseStores(config.vector_store_ids, request);
  const hosted = [...config.enabled_hosted_tools, ...(fileSearch === null ? [] : [FILE_SEARCH])];
  checkToolChoice(request.toolChoice, request.tools, hosted);
  if (request.reasoningEffort !== null && !isReasoningEffort(request.reasoningEffort)) {
    throw new ApiError('invalid_reasoning_effort', {
      param: 'reasoning_effort',
      message: `\`reasoning_effort\` must be one of ${REASONING_EFFORTS.join(', ')}.`,
    });
  }
  const modelId = request.overrides.model ?? config.model;
  const { provider, model } = readModelId(modelId);
  return {
    overrides: request.overrides,
    model: `${provider}/${model}`,
    instructions: [rendered.text, request.overrides.instructions ?? ''].filter((text) => text !== '').join('\n\n'),
    hosted_tools: config.enabled_hosted_tools,
    tools: request.tools,
    file_search: fileSearch,
    memory:
      request.stateless === true
        ? null
        : {
            content: smith.memory,
            auto: config.auto_memory,
            consolidate: config.memory_consolidation,
            indexed: smith.recalls || config.auto_memory,
          },
    tool_choice: request.toolChoice,
    response_format: request.responseFormat,
    reasoning_effort: request.reasoningEffort,
    max_output_tokens: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop,
  };
}

function chooseStores(
  own: readonly string[],
  { fileSearch, stateless }: Pick<TurnRequest, 'fileSearch' | 'stateless'>,
): FileSearchConfig | null {
  if (fileSearch !== undefined) return fileSearch;
  if (own.length === 0 || stateless === true) return null;
  return { vector_store_ids: own, max_num_results: null, filters: null, ranking_options: null };
}

function readModelId(id: string): ReturnType<typeof parseModelId> {
  try {
    return parseModelId(id);
  } catch (error) {
    throw faultOfModel(error);
  }
}

/** Whatever keeps the model from being run is about the run's `model`, not about a member of some other request. */
function faultOfModel(error: unknown): unknown {
  return error instanceof ApiError ? new ApiError(error.code, { ...error.detail, param: 'model' }) : error;
}

function checkToolChoice(choice: ToolChoice, tools: readonly ClientTool[], hosted: readonly string[]): void {
  const names = [...tools.map((tool) => tool.name), ...hosted];
  if (new Set(names).size < names.length) {
    throw new ApiError('invalid_request', {
      param: 'tools',
      message: 'Two tools share a name. Give each a name of its own.',
    });
  }
  if (choice === 'auto' || choice === 'none') return;
  if (choice === 'required' ? names.length > 0 : names.includes(choice.name)) return;
  const wanted = choice === 'required' ? 'any tool' : `the tool ${choice.name}`;
  throw new ApiError('invalid_tool_choice', {
    param: 'tool_choice',
    message: `\`tool_choice\` asks for ${wanted}, but the turn offers ${names.length === 0 ? 'none' : names.join(', ')}.`,
  });
}

/** A copy of another run's thread that a turn begins with. */
interface Fork {
  readonly origin: RunRow;
  readonly at: 'before' | 'after';
}

async function chooseThread(db: Database, { threadId, continues }: TurnRequest): Promise<string> {
  if (threadId !== undefined) return threadId;
  if (continues === undefined) return mintId('thr');
  const { rows } = await db.query<{ turns: number }>({
    text: 'select turns from threads where project_id = $1 and smith_id = $2 and id = $3',
    values: [continues.project_id, continues.smith_id, continues.thread_id],
  });
  return rows[0]?.turns === continues.turn ? continues.thread_id : mintId('thr');
}

function forkOf({ replayOf, continues }: TurnRequest, threadId: string): Fork | undefined {
  if (replayOf !== undefined) return { origin: replayOf, at: 'before' };
  if (continues === undefined || continues.thread_id === threadId) return undefined;
  return { origin: continues, at: 'after' };
}

async function startOrFindDuplicate(
  db: Database,
  turn: NewTurn,
  fork: Fork | undefined,
): Promise<TurnStart | { duplicate: RunRow }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await (fork === undefined ? startTurn(db, turn) : startInFork(db, turn, fork));
    } catch (error) {
      const keyTaken = isUniqueViolation(error, 'idempotency_keys_pkey');
      const turnTaken = isUniqueViolation(error, 'messages_pkey');
      const locked = error instanceof ApiError && error.code === 'conversation_locked';
      if (!keyTaken && !turnTaken && !locked) throw error;
      const duplicate = await findDuplicate(db, turn.projectId, turn.idempotency);
      if (duplicate !== undefined) return { duplicate };
      if (locked || attempt === START_TRIES) throw error;
    }
  }
}

/** The copy of the thread and the turn on it are there together or not at all. */
function startInFork(db: Database, turn: NewTurn, { origin, at }: Fork): Promise<TurnStart> {
  return db.transaction(async (tx) => {
    await forkThread(tx, origin, turn.threadId, at);
    return startTurn(tx, turn);
  });
}

/** The run that this key has started. Throws `idempotency_key_reused` when it was another request. */
async function findDuplicate(
  db: Database,
  projectId: string,
  claim: IdempotencyClaim | undefined,
): Promise<RunRow | undefined> {
  if (claim === undefined) return undefined;
  const { rows } = await db.query<{ fingerprint: string; run_id: string; live: boolean }>({
    text: `
      select fingerprint, run_id, expires_at > now() as live from idempotency_keys
      where project_id = $1 and operation = $2 and key = $3`,
    values: [projectId, claim.operation, claim.key],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  if (!row.live) {
    await db.query({
      text: 'delete from idempotency_keys where project_id = $1 and operation = $2 and key = $3 and expires_at <= now()',
      values: [projectId, claim.operation, claim.key],
    });
    return undefined;
  }
  if (row.fingerprint !== claim.fingerprint) throw new ApiError('idempotency_key_reused');
  return getRun(db, projectId, row.run_id);
}

/** The row as the start statement wrote it. */
function startedRow(turn: NewTurn, start: TurnStart): RunRow {
  return {
    id: turn.runId,
    project_id: turn.projectId,
    smith_id: turn.smithId,
    thread_id: turn.threadId,
    turn: start.turn,
    agent_id: turn.agentId,
    agent_version: turn.agentVersion,
    status: 'in_progress',
    channel: turn.channel,
    input: [...turn.input],
    config: turn.config,
    output: null,
    stop_reason: null,
    error: null,
    warnings: [],
    input_tokens: 0,
    output_tokens: 0,
    cost_micros: null,
    metadata: turn.metadata,
    actor: turn.actor,
    replay_of: turn.replayOf,
    replica_id: turn.replicaId,
    attempt: 1,
    cancel_requested_at: null,
    surface: turn.surface,
    requests: turn.request === null ? [] : [turn.request],
    forgotten_at: turn.forgotten ? start.createdAt : null,
    created_at: start.createdAt,
    updated_at: start.createdAt,
  };
}
