/** Starts a turn on a smith, whatever surface asks for it. */

import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { throwIfSpent } from '../../budgets/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { Actor, JsonObject } from '../../tables.ts';
import type { ServerCredentials } from '../../tools/request-servers.ts';
import type { Engine } from '../engine.ts';
import { estimateFirstCall } from '../execution/turn-budgets.ts';
import { budgetsAtStart, type TurnBudgets } from '../execution/turn-state.ts';
import { attachFiles } from '../input/attached-files.ts';
import { checkThreadId } from '../input/check-thread-id.ts';
import { countInput, type InputMessage, parseInput } from '../input/parse-input.ts';
import type { Admission } from '../replica/admission.ts';
import { loadSmithForTurn, type SmithForTurn } from '../store/load-smith-turn.ts';
import { NOTHING_USED, type RunRow, type Surface, turnKeyOf } from '../store/run-row.ts';
import type { NewRun, TurnStart } from '../store/start-turn.ts';
import type { ClaimedTurn, TurnClaim } from '../store/turn-claims.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { StoredMessage, ThreadHistory, TurnConfig, TurnSettings } from '../turn.ts';
import { chooseThread, type ThreadChoice } from './choose-thread.ts';
import { configureTurn, skillsOf, withModelParam } from './configure-turn.ts';
import { startOrFindDuplicate } from './start-or-find-duplicate.ts';

/** Without a thread: a new one. */
export interface TurnRequest extends ThreadChoice {
  readonly projectId: string;
  readonly smithId: string;
  /** The smith, where the caller has just read it. */
  readonly smith?: SmithForTurn | undefined;
  readonly input: readonly InputMessage[];
  readonly settings: TurnSettings;
  readonly channel: string;
  readonly metadata: JsonObject;
  readonly actor: Actor | null;
  /** Who names files in the input; null where an earlier run of the smith was given them. */
  readonly reader: ProjectCaller | null;
  /** The caller has looked for what the key has begun before (`findClaimedTurn`). */
  readonly idempotency?: TurnClaim | undefined;
  /** Neither the smith's memory nor its stores: the answer rests on the request alone. */
  readonly stateless?: boolean;
  /** Neither reads the smith's memory nor adds to it: others speak to the smith than those whom it remembers. */
  readonly withoutMemory?: boolean;
  /** Default: a native run. */
  readonly surface?: TurnSurface;
  /** What may be sent to the MCP servers that the request brought. */
  readonly credentials?: ServerCredentials | undefined;
  /** The caller waits for the end and reads nothing before it: the model may be asked for buffered answers. */
  readonly buffered?: boolean;
  /** Somebody reads along all the same: the model is asked for pieces. */
  readonly streamed?: boolean;
}

/** The surface that starts a turn, and what it needs to show the turn again. */
export interface TurnSurface {
  readonly kind: Surface;
  readonly request: JsonObject;
  /** False: the turn is not to be retrieved later. */
  readonly stored: boolean;
}

/** `duplicate`: another request with the idempotency key came first. */
export type CreatedTurn =
  | { readonly kind: 'started'; readonly run: RunRow; readonly live: LiveTurn }
  | { readonly kind: 'duplicate'; readonly claimed: ClaimedTurn };

type NewMessage = Pick<StoredMessage, 'role' | 'content' | 'tokens'>;

/**
 * Throws `not_found`, `agent_unpublished`, `invalid_request` (the thread's id), `invalid_input`, `invalid_variables`, `invalid_tool_choice`,
 * `invalid_reasoning_effort`, `model_key_missing`, `bedrock_unconfigured`, `conversation_locked`,
 * `concurrency_limit_exceeded`, `budget_exceeded`, `card_required`, `insufficient_credits`, `idempotency_key_reused`, and `replay_unsupported` for a replay.
 */
export async function createTurn(engine: Engine, request: TurnRequest): Promise<CreatedTurn> {
  const { projectId, threadId } = request;
  if (threadId !== undefined) checkThreadId(threadId);
  const admission = engine.admit(projectId);
  try {
    const created = await startAdmitted(engine, request, admission);
    if (created.kind === 'duplicate') admission.release();
    return created;
  } catch (error) {
    admission.release();
    throw error;
  }
}

async function startAdmitted(engine: Engine, request: TurnRequest, admission: Admission): Promise<CreatedTurn> {
  const { db } = engine;
  const { projectId, smithId } = request;
  const parsed = await countInput(parseInput(request.input));
  const smith = request.smith ?? (await loadSmithForTurn(tenantDb(db, projectId), smithId));
  if (smith === undefined) throw new ApiError('not_found');
  throwIfSpent(smith.budgets);
  await engine.credits.check(projectId, smith.credits);
  const named = request.stateless === true ? [] : skillsOf(smith);
  const skills = named.length === 0 ? null : await engine.skills.fix(projectId, named);
  const config = configureTurn(smith, request.settings, {
    stateless: request.stateless === true,
    ...(request.withoutMemory === true && { withoutMemory: true }),
    skills,
  });
  const model = await engine.models.open(projectId, config.model, smith.model_keys).catch((error: unknown) => {
    throw withModelParam(error);
  });
  const reader = { projectId, smithId, caller: request.reader };
  const { input, messages, inline } = await attachFiles(engine.files, reader, request.input, parsed);
  const asyncCommit = request.buffered === true && db.kind === 'server';
  const holdsNobodyUp = asyncCommit || db.kind === 'embedded';
  const execution = {
    lastSeq: 1,
    admission,
    model,
    buffered: request.buffered === true && request.streamed !== true,
  };
  let early: LiveTurn | undefined;
  let start: TurnStart | { readonly duplicate: ClaimedTurn } | undefined;
  try {
    const thread = await chooseThread(db, request);
    const newTurn = {
      run: describeRun(engine, request, { smith, config, input, threadId: thread.id }),
      messages,
      stored: request.surface?.stored !== false,
      idempotency: request.idempotency,
      asyncCommit,
      // Whoever waits for a period's row should not wait for the disk as well, which a start without that commit would.
      reservation: holdsNobodyUp ? estimateFirstCall(smith.budgets, config, tokensOf(messages)) : undefined,
    };
    const starting = startOrFindDuplicate(engine, newTurn, { fork: thread.fork, inline, files: engine.files });
    if (inline.length === 0 && isSureToStart(engine, request, smith)) {
      const run = { ...newTurn.run, turn: 1 };
      const state = stateAtStart(config, { run, history: noHistory() }, messages, budgetsAtStart(false));
      early = engine.execute({ ...execution, key: turnKeyOf({ ...run, attempt: 1 }), state, starting });
    }
    start = await starting;
  } finally {
    const isStarted = start !== undefined && !('duplicate' in start);
    if (!isStarted) await engine.files.discard(projectId, inline);
  }
  if ('duplicate' in start) return { kind: 'duplicate', claimed: start.duplicate };
  const { run } = start;
  if (early !== undefined) return { kind: 'started', live: early, run };
  const state = stateAtStart(config, start, messages, budgetsAfter(smith.budgets, start));
  return { kind: 'started', live: engine.execute({ ...execution, key: turnKeyOf(run), state }), run };
}

/**
 * Whether the model may be asked while the statement that starts the turn is under way: its thread is new, so what comes back is
 * known; its caller hears of nothing before the end; and nothing that the statement decides is likely to be refused (a busy
 * smith, a key that somebody else has used, a budget without room). Where it is refused all the same, the call is broken off.
 */
function isSureToStart(engine: Engine, request: TurnRequest, smith: SmithForTurn): boolean {
  const { threadId, replayOf, continues, idempotency, settings } = request;
  const isOnNewThread = threadId === undefined && replayOf === undefined && continues === undefined;
  return (
    request.buffered === true &&
    isOnNewThread &&
    idempotency === undefined &&
    // What may be sent to servers that the request brought is in the row.
    settings.tools.mcp === undefined &&
    smith.budgets.length === 0 &&
    !smith.is_busy &&
    !engine.isExecuting(smith.id)
  );
}

function describeRun(
  { replicaId, requestServers }: Engine,
  request: TurnRequest,
  chosen: {
    readonly smith: SmithForTurn;
    readonly config: TurnConfig;
    readonly input: readonly InputMessage[];
    readonly threadId: string;
  },
): NewRun {
  const { surface, projectId, credentials } = request;
  const id = mintId('run');
  const hasCredentials = credentials !== undefined && credentials.size > 0;
  return {
    project_id: projectId,
    id,
    smith_id: request.smithId,
    thread_id: chosen.threadId,
    agent_id: chosen.smith.agent_id,
    agent_version: chosen.smith.agent_version,
    channel: request.channel,
    input: chosen.input as unknown as JsonObject[],
    config: chosen.config,
    metadata: request.metadata,
    actor: request.actor,
    replay_of: request.replayOf?.id ?? null,
    replica_id: replicaId,
    surface: surface?.kind ?? 'run',
    requests: surface === undefined ? [] : [{ segment: 1, ...surface.request }],
    sealed_mcp_credentials: hasCredentials ? requestServers.seal({ projectId, runId: id }, credentials, null) : null,
  };
}

function noHistory(): ThreadHistory {
  return { summary: null, summaryTurn: 0, messages: [] };
}

/** What is known of a turn before it has started. */
interface EarlyStart {
  readonly run: Pick<RunRow, 'turn' | 'actor' | 'agent_id'>;
  readonly history: ThreadHistory;
}

function stateAtStart(
  config: TurnConfig,
  { run, history }: EarlyStart,
  messages: readonly NewMessage[],
  budgets: TurnBudgets,
) {
  const own = messages.map((message, position) => ({ ...message, turn: run.turn, position }));
  return {
    config,
    actor: run.actor,
    history: { ...history, messages: [...history.messages, ...own] },
    openCalls: [],
    calls: [],
    nextPosition: 0,
    nextMessage: own.length,
    modelCalls: 0,
    usage: { ...NOTHING_USED },
    warnings: [],
    agentId: run.agent_id,
    budgets,
    requestLists: new Map(),
  };
}

function budgetsAfter({ length }: SmithForTurn['budgets'], { reserved }: TurnStart): TurnBudgets {
  if (reserved === undefined) return budgetsAtStart(length > 0);
  return budgetsAtStart(true, reserved.isWhole ? { heldMicros: reserved.amountMicros } : { hasLeftover: true });
}

function tokensOf(messages: readonly NewMessage[]): number {
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}
