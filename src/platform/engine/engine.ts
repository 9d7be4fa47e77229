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
import { DEFAULT_CONTEXT_WINDOW } from '../models/catalogue.ts';
import { findModel, type ModelCallLimits } from '../models/index.ts';
import type { Tool, ToolSource } from '../tools/tool.ts';
import { executeTurn, TurnStopped } from './execute-turn.ts';
import { LiveTurn } from './live-turn.ts';
import { loadModelKeys } from './load-smith-turn.ts';
import type { ModelOpener } from './open-turn-model.ts';
import { adoptOrphans, beat, forgetOldReplicas, HEARTBEAT_MS, registerReplica, releaseTurns } from './replica.ts';
import { loadTurn, seqAfterRestart } from './resume-turn.ts';
import type { RunRow } from './run-row.ts';
import { createRunSignals, type RunSignals } from './run-signals.ts';
import { streamTimeline } from './stream-timeline.ts';
import { createTimelineWriter } from './timeline-writer.ts';
import { type ClientTool, MAX_ATTEMPTS, type TurnConfig, type TurnKey } from './turn.ts';
import type { TurnState } from './turn-state.ts';

export interface EngineParts {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly models: ModelOpener;
  readonly toolSources: readonly ToolSource[];
  readonly runsInFlightPerProject: number;
  /** Patience with model providers, where it differs from the default. */
  readonly modelCall?: Partial<ModelCallLimits> | undefined;
}

export interface Engine {
  readonly replicaId: string;
  readonly db: Database;
  readonly models: ModelOpener;
  readonly signals: RunSignals;
  start(): Promise<void>;
  /** Throws `service_overloaded` while draining and `concurrency_limit_exceeded` beyond the project's runs in flight. */
  admit(projectId: string): void;
  /** Executes a turn whose row this replica holds. `keys` are loaded when not given. */
  execute(execution: Execution): LiveTurn;
  findLive(runId: string): LiveTurn | undefined;
  /** The tools of a turn with this configuration. */
  listTools(turn: { projectId: string; smithId: string }, config: TurnConfig): Promise<readonly Tool[]>;
  /** The timeline beyond `after`. */
  stream(run: { projectId: string; smithId: string; runId: string }, after: number): EventSource;
  /** Stops taking turns, waits for those in flight, lets go of the rest after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
}

export interface Execution {
  readonly key: TurnKey;
  readonly lastSeq: number;
  readonly state: Omit<TurnState, 'contextWindow' | 'maxOutputTokens'>;
  /** The opened model, when the caller has it already. */
  readonly model?: LanguageModelV4;
  /** Emitted before the first step, e.g. `run.restarted`. */
  readonly opening?: { readonly type: string; readonly data: Record<string, unknown> };
}

export const CONCURRENCY_RETRY_SECONDS = 1;

export function createEngine(parts: EngineParts): Engine {
  const { db, logger } = parts;
  const replicaId = mintId('rep');
  const live = new Map<string, LiveTurn>();
  const inFlight = new Map<string, number>();
  const draining = new AbortController();
  const signals = createRunSignals(db, (error) => logger.warn({ err: error }, 'wake-up not sent'));
  const writer = createTimelineWriter({ db, signals, logger, liveTurns: () => live.values() });
  let heartbeat: NodeJS.Timeout | undefined;
  let adopting: Promise<void> | undefined;
  let beats = 0;

  parts.metrics.gauge('runs_in_flight', 'Turns that this replica executes', [], (gauge) => gauge.set(live.size));

  const engine: Engine = {
    replicaId,
    db,
    models: parts.models,
    signals,
    async start() {
      await registerReplica(db, replicaId);
      await signals.start({
        onCancel: (runId) => live.get(runId)?.abort.abort(new TurnStopped('cancelled')),
        onOrphans: adopt,
      });
      writer.start();
      heartbeat = setTimeout(pulse, 0);
    },
    admit(projectId) {
      if (draining.signal.aborted) {
        throw new ApiError('service_overloaded', {
          retryAfterSeconds: 1,
          message: 'This server is going away. Try again.',
        });
      }
      if ((inFlight.get(projectId) ?? 0) < parts.runsInFlightPerProject) return;
      throw new ApiError('concurrency_limit_exceeded', { retryAfterSeconds: CONCURRENCY_RETRY_SECONDS });
    },
    execute(execution) {
      const { key, state } = execution;
      const turn = new LiveTurn(key, execution.lastSeq);
      live.set(key.runId, turn);
      inFlight.set(key.projectId, (inFlight.get(key.projectId) ?? 0) + 1);
      if (execution.opening !== undefined) turn.emit(execution.opening.type, execution.opening.data);
      const model = findModel(state.config.model);
      const openModel = async () =>
        execution.model ??
        parts.models.open(key.projectId, state.config.model, await loadModelKeys(db, key.projectId, key.smithId));
      void executeTurn(
        {
          db,
          replicaId,
          logger,
          modelCall: parts.modelCall,
          flush: writer.flush,
          openModel,
          listTools: () => listTools(key, state.config),
        },
        turn,
        {
          ...state,
          contextWindow: model?.contextWindow ?? DEFAULT_CONTEXT_WINDOW,
          maxOutputTokens: model?.maxOutputTokens,
        },
      ).then(() => {
        live.delete(key.runId);
        const left = (inFlight.get(key.projectId) ?? 1) - 1;
        if (left === 0) inFlight.delete(key.projectId);
        else inFlight.set(key.projectId, left);
        signals.announce([key.runId]);
      });
      return turn;
    },
    findLive: (runId) => live.get(runId),
    listTools,
    stream: (run, after) =>
      streamTimeline({ db, signals, findLive: (runId) => live.get(runId), draining: draining.signal }, run, after),
    async drain(timeoutMs) {
      draining.abort();
      await waitForTurns(timeoutMs);
      for (const turn of live.values()) turn.abort.abort(new TurnStopped('detached'));
      await Promise.all([...live.values()].map((turn) => turn.done));
      await writer.flush();
      clearTimeout(heartbeat);
      await adopting;
      if ((await releaseTurns(db, replicaId)) > 0) await signals.announceOrphans();
    },
    async stop() {
      clearTimeout(heartbeat);
      draining.abort();
      for (const turn of live.values()) turn.abort.abort(new TurnStopped('detached'));
      await Promise.all([...live.values()].map((turn) => turn.done));
      await adopting;
      await writer.stop();
      await signals.stop();
    },
  };
  return engine;

  async function waitForTurns(timeoutMs: number): Promise<void> {
    const timeout = new Promise((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([timeout, Promise.all([...live.values()].map((turn) => turn.done))]);
  }

  async function pulse(): Promise<void> {
    try {
      await beat(db, replicaId);
      if (beats++ % 600 === 0) await forgetOldReplicas(db);
      await adopt();
    } catch (error) {
      logger.warn({ err: error }, 'heartbeat missed');
    }
    if (!draining.signal.aborted) heartbeat = setTimeout(pulse, HEARTBEAT_MS);
  }

  function adopt(): Promise<void> {
    if (draining.signal.aborted) return Promise.resolve();
    adopting ??= takeOver().finally(() => {
      adopting = undefined;
    });
    return adopting;
  }

  async function takeOver(): Promise<void> {
    for (const run of await adoptOrphans(db, replicaId, [...live.keys()])) {
      try {
        await resume(run);
      } catch (error) {
        logger.error({ err: error, runId: run.id }, 'a turn that was left behind could not be taken over');
      }
    }
  }

  /** Goes on with a turn whose replica died or let it go. */
  async function resume(run: RunRow): Promise<void> {
    const { state, lastSeq } = await loadTurn(db, run);
    const key = keyOf(run);
    logger.info({ runId: run.id, attempt: run.attempt }, 'taking over a turn');
    const tools = new Map((await listTools(key, run.config)).map((tool) => [tool.name, tool]));
    for (const call of state.openCalls) {
      if (call.status !== 'started' || tools.get(call.name)?.repeatable === true) continue;
      call.error = 'The server went away during this call, so its outcome is unknown. It was not repeated.';
    }
    const execution = {
      key,
      lastSeq: seqAfterRestart(lastSeq),
      state,
      opening: { type: 'run.restarted', data: { attempt: run.attempt, step: state.nextPosition } },
    };
    const turn = engine.execute(execution);
    if (run.cancel_requested_at !== null) turn.abort.abort(new TurnStopped('cancelled'));
    else if (run.attempt > MAX_ATTEMPTS) {
      turn.abort.abort(
        new ApiError('resume_failed', {
          message: `The turn was interrupted ${run.attempt - 1} times and is given up.`,
        }),
      );
    }
  }

  async function listTools(key: { projectId: string; smithId: string }, config: TurnConfig): Promise<readonly Tool[]> {
    const turn = { projectId: key.projectId, smithId: key.smithId, hostedTools: config.hosted_tools };
    const served = await Promise.all(parts.toolSources.map((source) => source.toolsFor(turn)));
    return [...config.tools.map(clientTool), ...served.flat()];
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
