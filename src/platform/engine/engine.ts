/**
 * The one engine behind every surface that starts a turn. Owns the turns that this replica executes, its heartbeat, and
 * the taking over of turns that others left behind.
 */

import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { EventSource } from '../../kernel/http/event-stream.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../kernel/periodic/periodic-worker.ts';
import { DEFAULT_CONTEXT_WINDOW } from '../models/catalogue.ts';
import { findModel, loadModelKeys, type ModelCallLimits } from '../models/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import type { Tool, ToolSource } from '../tools/tool.ts';
import { executeTurn, TurnStopped } from './execution/execute-turn.ts';
import type { ModelOpener } from './execution/open-turn-model.ts';
import type { TurnState } from './execution/turn-state.ts';
import { loadAttachedFiles, type TurnFiles } from './input/attached-files.ts';
import {
  ADOPT_AT_ONCE,
  adoptOrphans,
  beat,
  forgetOldReplicas,
  HEARTBEAT_MS,
  registerReplica,
  releaseTurns,
} from './store/replica.ts';
import { loadTurn, seqAfterRestart } from './store/resume-turn.ts';
import type { RunRow } from './store/run-row.ts';
import {
  type FollowEnd,
  type FollowedRun,
  type FrameSink,
  followTimeline,
  streamTimeline,
} from './timeline/follow-timeline.ts';
import { LiveTurn } from './timeline/live-turn.ts';
import { createRunSignals, type RunSignals } from './timeline/run-signals.ts';
import { createTimelineWriter } from './timeline/timeline-writer.ts';
import {
  type ClientTool,
  isSettled,
  LeaseLostError,
  MAX_INTERRUPTIONS,
  type TurnConfig,
  type TurnKey,
} from './turn.ts';

export interface EngineParts {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly models: ModelOpener;
  readonly toolSources: readonly ToolSource[];
  readonly files: TurnFiles;
  /** Told of each turn that has ended and is to be found by recall. */
  readonly onTurnEnded: (owner: { readonly projectId: string; readonly smithId: string }) => void;
  readonly runsInFlightPerProject: number;
  /** Patience with model providers, where it differs from the default. */
  readonly modelCall?: Partial<ModelCallLimits> | undefined;
}

export interface Engine {
  readonly replicaId: string;
  readonly db: Database;
  readonly models: ModelOpener;
  readonly files: TurnFiles;
  readonly signals: RunSignals;
  start(): Promise<void>;
  /**
   * Takes one of the project's places for runs in flight; `execute` is to be given it, or it is to be released. Throws
   * `service_overloaded` while draining and `concurrency_limit_exceeded` where no place is left.
   */
  admit(projectId: string): Admission;
  /** Executes a turn whose row this replica holds. */
  execute(execution: Execution): LiveTurn;
  findLive(runId: string): LiveTurn | undefined;
  /** The tools of a turn with this configuration. */
  listTools(turn: { projectId: string; smithId: string }, config: TurnConfig): Promise<readonly Tool[]>;
  /** The timeline beyond `after`, in its native wire form. */
  stream(run: FollowedRun, after: number): EventSource;
  /** The timeline beyond `after`, frame by frame, for surfaces that show it in their own form. */
  follow(run: FollowedRun, after: number, sink: FrameSink, closed: AbortSignal): Promise<FollowEnd>;
  /** Fires when this replica takes no more turns. */
  readonly draining: AbortSignal;
  /** Stops taking turns, waits for those in flight, lets go of the rest after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  /** Lets go of every turn at once. */
  stop(): Promise<void>;
}

/** One of a project's places for runs in flight. */
export interface Admission {
  /** Once is enough; more often does nothing. */
  release(): void;
}

export interface Execution {
  readonly key: TurnKey;
  readonly lastSeq: number;
  readonly state: Omit<TurnState, 'contextWindow' | 'maxOutputTokens'>;
  /** The place that was taken for it; without one it runs beyond the limit. */
  readonly admission?: Admission;
  /** The opened model, when the caller has it already. */
  readonly model?: LanguageModelV4;
  /** Set where an earlier attempt was cut off: what `run.restarted` says. */
  readonly restarted?: Record<string, unknown>;
  /** Nobody reads along: answers of the model may come in one piece. Absent: they are streamed. */
  readonly buffered?: boolean;
}

export const CONCURRENCY_RETRY_SECONDS = 1;
const CLEANUP_MS = 600_000;

export function createEngine(parts: EngineParts): Engine {
  const { db, logger } = parts;
  const replicaId = mintId('rep');
  const live = new Map<string, LiveTurn>();
  const inFlight = new Map<string, number>();
  const draining = new AbortController();
  const signals = createRunSignals(db, (error) => logger.warn({ err: error }, 'wake-up not sent'));
  const writer = createTimelineWriter({ db, signals, logger, liveTurns: () => live.values() });
  const timeline = { db, signals, findLive: (runId: string) => live.get(runId), draining: draining.signal };
  // Apart from each other: however long taking over takes, the next heartbeat is in time.
  const heartbeat = everySecond('heartbeat', () => beat(db, replicaId));
  const adoption = everySecond('adoption of turns', takeOver);
  const cleanup = createPeriodicWorker({
    name: 'removal of old replicas',
    intervalMs: CLEANUP_MS,
    pass: () => forgetOldReplicas(db),
    logger,
  });

  parts.metrics.gauge('runs_in_flight', 'Turns that this replica executes', [], (gauge) => gauge.set(live.size));

  const engine: Engine = {
    replicaId,
    db,
    models: parts.models,
    files: parts.files,
    signals,
    async start() {
      await registerReplica(db, replicaId);
      await signals.start({
        onCancel: (runId) => live.get(runId)?.abort.abort(new TurnStopped('cancelled')),
        onOrphans: () => adoption.wake(),
      });
      writer.start();
      for (const worker of [heartbeat, adoption, cleanup]) worker.start();
    },
    admit(projectId) {
      if (draining.signal.aborted) {
        throw new ApiError('service_overloaded', {
          retryAfterSeconds: 1,
          message: 'This server is going away. Try again.',
        });
      }
      if ((inFlight.get(projectId) ?? 0) < parts.runsInFlightPerProject) return takePlace(projectId);
      throw new ApiError('concurrency_limit_exceeded', { retryAfterSeconds: CONCURRENCY_RETRY_SECONDS });
    },
    execute(execution) {
      const { key, state } = execution;
      const turn = new LiveTurn(key, execution.lastSeq);
      const admission = execution.admission ?? takePlace(key.projectId);
      // An execution that has lost its lease without knowing it yet.
      live.get(key.runId)?.abort.abort(new LeaseLostError(key.runId));
      live.set(key.runId, turn);
      if (execution.restarted !== undefined) turn.emit('run.restarted', execution.restarted);
      const model = findModel(state.config.model);
      const openModel = async () =>
        execution.model ??
        parts.models.open(
          key.projectId,
          state.config.model,
          await loadModelKeys(tenantDb(db, key.projectId), key.smithId),
        );
      void executeTurn(
        {
          db,
          replicaId,
          logger,
          modelCall: parts.modelCall,
          flush: writer.flush,
          openModel,
          loadFiles: (prompt) => loadAttachedFiles(parts.files, key.projectId, prompt),
          listTools: () => listTools(key, state.config),
          restarted: execution.restarted !== undefined,
          buffered: execution.buffered === true,
        },
        turn,
        {
          ...state,
          contextWindow: model?.contextWindow ?? DEFAULT_CONTEXT_WINDOW,
          maxOutputTokens: model?.maxOutputTokens,
        },
      ).then((row) => {
        if (live.get(key.runId) === turn) live.delete(key.runId);
        admission.release();
        signals.announce([key.runId]);
        if (row !== undefined && isSettled(row.status) && state.config.memory?.indexed === true) {
          parts.onTurnEnded({ projectId: key.projectId, smithId: key.smithId });
        }
      });
      return turn;
    },
    findLive: (runId) => live.get(runId),
    listTools,
    stream: (run, after) => streamTimeline(timeline, run, after),
    follow: (run, after, sink, closed) => followTimeline(timeline, run, after, sink, closed),
    draining: draining.signal,
    async drain(timeoutMs) {
      draining.abort();
      await waitForTurns(timeoutMs);
      await letGo();
    },
    async stop() {
      draining.abort();
      await letGo().catch((error) => logger.warn({ err: error }, 'turns not handed on; their lease will lapse'));
      await writer.stop();
      await signals.stop();
    },
  };
  return engine;

  function takePlace(projectId: string): Admission {
    inFlight.set(projectId, (inFlight.get(projectId) ?? 0) + 1);
    let taken = true;
    return {
      release() {
        if (!taken) return;
        taken = false;
        const left = (inFlight.get(projectId) ?? 1) - 1;
        if (left === 0) inFlight.delete(projectId);
        else inFlight.set(projectId, left);
      },
    };
  }

  /** Hands every turn on to whoever takes it. The last heartbeat: until here the turns were this replica's. */
  async function letGo(): Promise<void> {
    await Promise.all([adoption.stop(), cleanup.stop()]);
    const held = [...live.values()];
    for (const turn of held) turn.abort.abort(new TurnStopped('detached'));
    await Promise.all(held.map((turn) => turn.done));
    await heartbeat.stop();
    if ((await releaseTurns(db, replicaId)) > 0) await signals.announceOrphans();
  }

  async function waitForTurns(timeoutMs: number): Promise<void> {
    const timeout = new Promise((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([timeout, Promise.all([...live.values()].map((turn) => turn.done))]);
  }

  /** As often after a failure: the lease of every turn depends on it. */
  function everySecond(name: string, pass: () => Promise<void>): PeriodicWorker {
    const backoff = { firstMs: HEARTBEAT_MS, longestMs: HEARTBEAT_MS };
    return createPeriodicWorker({ name, intervalMs: HEARTBEAT_MS, pass, backoff, logger });
  }

  /** A turn that cannot be read back now stays this replica's without being executed, and is tried again later. */
  async function takeOver(): Promise<void> {
    while (!draining.signal.aborted) {
      const orphans = await adoptOrphans(db, replicaId, [...live.keys()]);
      for (const run of orphans) {
        try {
          await resume(run);
        } catch (error) {
          logger.error({ err: error, runId: run.id }, 'a turn that was left behind could not be taken over');
        }
      }
      if (orphans.length < ADOPT_AT_ONCE) return;
    }
  }

  /** Goes on with a turn whose replica died or let it go. */
  async function resume(run: RunRow): Promise<void> {
    const { state, lastSeq, pauses } = await loadTurn(db, run);
    const key = keyOf(run);
    logger.info({ runId: run.id, attempt: run.attempt }, 'taking over a turn');
    const turn = engine.execute({
      key,
      lastSeq: seqAfterRestart(lastSeq, run.attempt),
      state,
      restarted: { attempt: run.attempt, step: state.nextPosition },
    });
    const interruptions = run.attempt - 1 - pauses;
    if (run.cancel_requested_at !== null) turn.abort.abort(new TurnStopped('cancelled'));
    else if (interruptions >= MAX_INTERRUPTIONS) {
      const message = `The turn was interrupted ${interruptions} times and is given up.`;
      turn.abort.abort(new ApiError('resume_failed', { message }));
    }
  }

  async function listTools(key: { projectId: string; smithId: string }, config: TurnConfig): Promise<readonly Tool[]> {
    const turn = {
      projectId: key.projectId,
      smithId: key.smithId,
      hostedTools: config.hosted_tools,
      fileSearch: config.file_search,
      memory: config.memory,
    };
    const served = await Promise.all(parts.toolSources.map((source) => source.toolsFor(turn)));
    const { client } = config.settings.tools;
    const taken = new Set(client.map((tool) => tool.name));
    // A name that the caller took for the turn is the caller's.
    return [...client.map(clientTool), ...served.flat().filter((tool) => !taken.has(tool.name))];
  }
}

export function keyOf(run: RunRow): TurnKey {
  return {
    projectId: run.project_id,
    smithId: run.smith_id,
    threadId: run.thread_id,
    runId: run.id,
    turn: run.turn,
    attempt: run.attempt,
  };
}

/** A tool that the caller runs. */
function clientTool(tool: ClientTool): Tool {
  return {
    name: tool.name,
    description: tool.description ?? '',
    parameters: tool.parameters,
    ...(tool.strict === undefined ? {} : { strict: tool.strict }),
    requiresApproval: tool.requires_approval,
    repeatable: true,
  };
}
