/** The one engine behind every surface that starts a turn. Owns the turns that this replica executes. */
import { sleep } from '../../kernel/clock/timers.ts';
import type { Database } from '../../kernel/db/database.ts';
import { beginWork } from '../../kernel/event-loop/activity.ts';
import type { EventSource } from '../../kernel/http/event-stream.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Credits } from '../billing/index.ts';
import type { ModelCallLimits } from '../models/index.ts';
import type { ForeignSchemas } from '../schemas/index.ts';
import type { RequestServers } from '../tools/request-servers.ts';
import type { ToolSource } from '../tools/tool.ts';
import type { ModelOpener } from './execution/open-turn-model.ts';
import { type Execution, startExecution } from './execution/start-execution.ts';
import type { TurnFiles } from './input/attached-files.ts';
import type { TurnSkills } from './input/turn-skills.ts';
import { type Admission, createAdmissionControl } from './replica/admission.ts';
import { takeHandedOver } from './replica/hand-over.ts';
import { createHeartbeat, createReplicaCleanup, type Heartbeat } from './replica/heartbeat.ts';
import { createHeldQuestions } from './replica/held-questions.ts';
import { createPauseLeaver } from './replica/leave-pauses.ts';
import { createTakeover } from './replica/takeover.ts';
import { beginLeaving, registerReplica, releaseTurns } from './store/replica.ts';
import type { RunRow } from './store/run-row.ts';
import { createTurnWriter, type TurnWriter } from './store/turn-writer.ts';
import {
  type FollowEnd,
  type FollowedRun,
  type FrameSink,
  followTimeline,
  streamTimeline,
} from './timeline/follow-timeline.ts';
import { LiveTurn } from './timeline/live-turn.ts';
import { createRunSignals, type HandedOverRun, type RunSignals } from './timeline/run-signals.ts';
import { createTimelineWriter } from './timeline/timeline-writer.ts';
import { isSettled, LeaseLostError, TurnStopped } from './turn.ts';

export interface EngineDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly models: ModelOpener;
  readonly schemas: ForeignSchemas;
  readonly toolSources: readonly ToolSource[];
  readonly files: TurnFiles;
  readonly skills: TurnSkills;
  readonly requestServers: RequestServers;
  /** Told of each turn that has ended and is to be found by recall. */
  readonly onTurnEnded: (owner: { readonly projectId: string; readonly smithId: string }) => void;
  /** Told of each turn that has come to rest on this replica: its smith is free. */
  readonly onTurnRested: (turn: RunPlace & { readonly smithId: string }) => void;
  /** Told of each run that this replica has brought to its end, however. */
  readonly onRunSettled: (run: RunPlace) => void;
  readonly runsInFlightPerProject: number;
  /** Who may run, and what it costs the wallet. */
  readonly credits: Credits;
  /** Patience with model providers, where it differs from the default. */
  readonly modelCall?: Partial<ModelCallLimits> | undefined;
  /** How long a model call waits for others to give back what they reserved of a budget; a default where undefined. */
  readonly budgetWaitMs?: number | undefined;
  /** How long another replica has to stop a run of which the cancellation is asked here; a default where undefined. */
  readonly cancelGraceMs?: number | undefined;
}

/** A run, and what it was started through. */
export interface RunPlace {
  readonly projectId: string;
  readonly runId: string;
  readonly channel: string;
}

export interface Engine {
  readonly replicaId: string;
  readonly db: Database;
  /**
   * The lease under which runs are stored as this replica's: each statement that does so is work `during` it. Jobs `hold` it, so that
   * an end of the process while it runs one is known as abrupt.
   */
  readonly heartbeat: Pick<Heartbeat, 'during' | 'hold'>;
  /** Starts and steps of the turns that this replica executes. */
  readonly turns: TurnWriter;
  readonly models: ModelOpener;
  /** Of callers: what answers are checked by. */
  readonly schemas: ForeignSchemas;
  readonly files: TurnFiles;
  readonly credits: Credits;
  readonly skills: TurnSkills;
  /** MCP servers that requests bring. */
  readonly requestServers: RequestServers;
  readonly signals: RunSignals;
  /** See `EngineDependencies`. */
  readonly cancelGraceMs: number | undefined;
  start(): Promise<void>;
  /** Takes one of the project's places for runs in flight; `execute` is to be given it, or it is to be released. */
  admit(projectId: string): Admission;
  /** Executes a turn whose row this replica holds, or is about to. */
  execute(execution: Execution): LiveTurn;
  /** Whether this replica executes a turn of the smith, be it one whose start is under way still. */
  isExecuting(smithId: string): boolean;
  findLive(runId: string): LiveTurn | undefined;
  /** Takes note of a run that was settled without being executed. */
  runSettled(run: RunPlace): void;
  /** An account has been connected (`noteConnection`): runs that waited for it go on at once, rather than at the next look. */
  resumeConnected(): void;
  /** Has the replica that the run's row names execute it. */
  handOver(run: HandedOverRun): Promise<void>;
  /** The timeline beyond `after`, in its native wire form. */
  stream(run: FollowedRun, after: number): EventSource;
  /** The timeline beyond `after`, frame by frame, for surfaces that show it in their own form. */
  follow(run: FollowedRun, after: number, sink: FrameSink, closed: AbortSignal): Promise<FollowEnd>;
  /** Fires when this replica takes no more turns. */
  readonly draining: AbortSignal;
  /** Stops taking turns, waits for those in flight, releases the rest after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  /** Releases every turn at once. */
  stop(): Promise<void>;
}

export function createEngine(deps: EngineDependencies): Engine {
  const { db, logger } = deps;
  const replicaId = mintId('rep');
  const live = new Map<string, LiveTurn>();
  /** Smiths, and how many of the live turns are theirs. */
  const executing = new Map<string, number>();
  const draining = new AbortController();
  /** The store is told, once, that this replica stops. */
  let leaving: Promise<void> | undefined;
  const turns = createTurnWriter(db, replicaId, deps.credits.terms);
  const signals = createRunSignals(db, (error) => logger.warn({ err: error }, 'wake-up not sent'));
  const writer = createTimelineWriter({ db, signals, logger, liveTurns: () => live.values() });
  const timeline = { db, signals, findLive: (runId: string) => live.get(runId), draining: draining.signal };
  const places = createAdmissionControl(deps.runsInFlightPerProject, draining.signal);
  const heartbeat = createHeartbeat({
    db,
    logger,
    replicaId,
    holdsTurns: () => live.size > 0 || held.holdsAny(),
    onActive: () => void signals.announceActive(replicaId),
    onLostTurn: () => takeover.wake(),
  });
  const cleanup = createReplicaCleanup(db, logger);
  const takeover = createTakeover({
    db,
    logger,
    replicaId,
    heartbeat,
    listLive: () => live.keys(),
    execute,
    announce: signals.announce,
    onRunSettled: deps.onRunSettled,
    draining: draining.signal,
  });
  const pauses = createPauseLeaver({
    db,
    logger,
    announce: signals.announce,
    async onResumed({ project_id: projectId, run_id: runId }, executing) {
      if (executing === null) await findExecutor();
      else await handOver({ replicaId: executing, projectId, runId });
    },
  });
  const held = createHeldQuestions({ db, logger, onClosable: () => pauses.wake() });

  deps.metrics.gauge('runs_in_flight', 'Turns that this replica executes', [], (gauge) => gauge.set(live.size));

  return {
    replicaId,
    db,
    heartbeat,
    turns,
    models: deps.models,
    schemas: deps.schemas,
    files: deps.files,
    credits: deps.credits,
    skills: deps.skills,
    requestServers: deps.requestServers,
    signals,
    cancelGraceMs: deps.cancelGraceMs,
    async start() {
      await registerReplica(db, replicaId);
      await signals.start({
        onCancel(runId) {
          live.get(runId)?.abort.abort(new TurnStopped('cancelled'));
          // Cancelled while it was paused, or soon: the rows say.
          held.wake();
        },
        onOrphans: () => takeover.wake(),
        onActive(active) {
          if (active !== replicaId) takeover.wake();
        },
        onHandOver: takeOver,
      });
      writer.start();
      for (const worker of [heartbeat, takeover, cleanup, pauses, held]) worker.start();
    },
    admit: places.admit,
    execute,
    isExecuting: (smithId) => executing.has(smithId),
    findLive: (runId) => live.get(runId),
    runSettled(run) {
      held.endRun(run.runId);
      deps.onRunSettled(run);
    },
    resumeConnected: () => pauses.wake(),
    handOver,
    stream: (run, after) => streamTimeline(timeline, run, after),
    follow: (run, after, sink, closed) => followTimeline(timeline, run, after, sink, closed),
    draining: draining.signal,
    async drain(timeoutMs) {
      await Promise.all([leave(), waitForTurns(timeoutMs)]);
      await releaseAll();
    },
    async stop() {
      const left = leave();
      const release = releaseAll().catch((error) =>
        logger.warn({ err: error }, 'turns not released; their lease will lapse'),
      );
      await Promise.all([left, release]);
      await writer.stop();
      await signals.stop();
    },
  };

  function execute(execution: Execution): LiveTurn {
    const { key, state, lastSeq, restarted } = execution;
    const turn = new LiveTurn(key, lastSeq, writer.wake);
    if (execution.starting !== undefined) awaitStart(turn, execution.starting);
    const admission = execution.admission ?? places.reserve(key.projectId);
    // An execution that has lost its lease without knowing it yet.
    live.get(key.runId)?.abort.abort(new LeaseLostError(key.runId));
    live.set(key.runId, turn);
    executing.set(key.smithId, (executing.get(key.smithId) ?? 0) + 1);
    const endWork = beginWork();
    if (restarted !== undefined) turn.emit('run.restarted', restarted);
    void startExecution({ ...deps, replicaId, turns, held, flush: writer.flush }, turn, execution).then((row) => {
      endWork();
      if (live.get(key.runId) === turn) live.delete(key.runId);
      const others = (executing.get(key.smithId) ?? 1) - 1;
      if (others === 0) executing.delete(key.smithId);
      else executing.set(key.smithId, others);
      admission.release();
      signals.announce([key.runId]);
      if (row !== undefined) deps.onTurnRested({ ...placeOf(row), smithId: key.smithId });
      if (row !== undefined && isSettled(row.status)) {
        held.endRun(key.runId);
        deps.onRunSettled(placeOf(row));
      }
      if (row !== undefined && isSettled(row.status) && state.config.memory?.indexed === true) {
        deps.onTurnEnded({ projectId: key.projectId, smithId: key.smithId });
      }
    });
    return turn;
  }

  /** Nothing of the turn is written before its start is, and what has begun ends where that fails. */
  function awaitStart(turn: LiveTurn, start: Promise<unknown>): void {
    turn.starting = start;
    start.then(
      () => {
        turn.starting = undefined;
      },
      () => turn.abort.abort(new LeaseLostError(turn.key.runId)),
    );
  }

  /** A run that names its replica already. */
  async function handOver(run: HandedOverRun): Promise<void> {
    if (run.replicaId === replicaId) takeOver(run);
    else await signals.handOver(run);
  }

  /** For a run that goes on and names no replica: this one, or another while this one drains. */
  async function findExecutor(): Promise<void> {
    if (draining.signal.aborted) await signals.announceOrphans();
    else takeover.wake();
  }

  function takeOver(run: HandedOverRun): void {
    const found = (runId: string) => live.get(runId);
    const takeRun = () => takeHandedOver({ db, replicaId, findLive: found, execute }, run);
    heartbeat.during(takeRun).catch((error: unknown) => {
      logger.warn({ err: error, runId: run.runId }, 'a run that was handed over is taken up later');
    });
  }

  /** Takes no more turns, and says so: an end that comes before this replica is through does not tell against its turns. */
  async function leave(): Promise<void> {
    draining.abort();
    leaving ??= beginLeaving(db, replicaId).catch((error) =>
      logger.warn({ err: error }, 'the store was not told of the stop'),
    );
    await leaving;
  }

  async function waitForTurns(timeoutMs: number): Promise<void> {
    const timeout = sleep(timeoutMs, undefined, { keepsProcess: false });
    await Promise.race([timeout, Promise.all([...live.values()].map((turn) => turn.done))]);
  }

  /** Hands every turn on to whoever takes it. Heartbeats go on until then: so long the turns are this replica's. */
  async function releaseAll(): Promise<void> {
    await Promise.all([takeover.stop(), cleanup.stop(), pauses.stop(), held.stop()]);
    const turns = [...live.values()];
    for (const turn of turns) turn.abort.abort(new TurnStopped('detached'));
    await Promise.all(turns.map((turn) => turn.done));
    await heartbeat.stop();
    // Neither writes the row again once it is removed.
    await leaving;
    if ((await releaseTurns(db, replicaId)) > 0) await signals.announceOrphans();
  }
}

function placeOf({ project_id: projectId, id: runId, channel }: RunRow): RunPlace {
  return { projectId, runId, channel };
}
