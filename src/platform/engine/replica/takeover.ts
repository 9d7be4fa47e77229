/**
 * Takes over turns whose replica died or released them, and goes on with them from what was committed.
 *
 * One statement looks for them, every HEARTBEAT_MS while there is something to watch: other replicas that send heartbeats, turns of this
 * replica that it does not execute, suspects that wait. Otherwise the wait doubles up to LONGEST_WAIT_MS, so that an idle server asks for
 * next to nothing; a wake-up (turns were released, a replica has begun to beat) brings the next look forward, and one that is lost
 * costs LONGEST_WAIT_MS.
 *
 * Turns of a replica that died are suspects: one of them may be what it died of. They are taken over one at a time, each on
 * trial (trial.ts), and the next once that one has shown a sign of life; after ALONE_FIRST of them the rest together. One
 * that is to blame is set aside (set-aside.ts).
 */
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import type { Execution } from '../execution/start-execution.ts';
import {
  ADOPT_AT_ONCE,
  adoptReleased,
  adoptSuspects,
  endTrial,
  findTakeoverNeed,
  type Suspect,
  type TakeoverNeed,
} from '../store/orphans.ts';
import { HEARTBEAT_MS } from '../store/replica.ts';
import { loadTurn, seqAfterRestart } from '../store/resume-turn.ts';
import { type RunRow, turnKeyOf } from '../store/run-row.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import { TurnStopped } from '../turn.ts';
import type { Heartbeat } from './heartbeat.ts';
import { judgeSuspect, setAside } from './set-aside.ts';
import { waitForTrial } from './trial.ts';

export interface TakeoverDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly replicaId: string;
  /** The lease under which turns are taken. */
  readonly heartbeat: Pick<Heartbeat, 'during'>;
  /** The runs that this replica executes. */
  readonly listLive: () => Iterable<string>;
  readonly execute: (execution: Execution) => LiveTurn;
  /** Wakes those who follow the run. */
  readonly announce: (runIds: readonly string[]) => void;
  readonly onRunSettled: (run: {
    readonly projectId: string;
    readonly runId: string;
    readonly channel: string;
  }) => void;
  readonly draining: AbortSignal;
}

/** Suspects that are tried one at a time before the rest is taken over together: it is seconds that they wait. */
const ALONE_FIRST = 8;
/** While there is nothing to watch: how late a turn is taken over whose wake-up was lost. */
const LONGEST_WAIT_MS = 30_000;

export function createTakeover(deps: TakeoverDependencies): PeriodicWorker {
  const takeover = new Takeover(deps, () => worker.wake());
  const worker = createPeriodicWorker({
    name: 'takeover',
    backoff: { firstMs: HEARTBEAT_MS, longestMs: HEARTBEAT_MS },
    logger: deps.logger,
    pass: () => takeover.pass(),
  });
  return worker;
}

class Takeover {
  readonly #deps: TakeoverDependencies;
  readonly #onTrialOver: () => void;
  #isOnTrial = false;
  /** Since there were none left. */
  #trials = 0;
  #waitMs = HEARTBEAT_MS;

  constructor(deps: TakeoverDependencies, onTrialOver: () => void) {
    this.#deps = deps;
    this.#onTrialOver = onTrialOver;
  }

  /** Resolves with the wait until the next one. While this replica drains, it takes no turns, and nothing is to be watched. */
  async pass(): Promise<number | undefined> {
    const { db, replicaId, listLive, heartbeat, draining } = this.#deps;
    if (draining.aborted) return undefined;
    const need = await findTakeoverNeed(db, replicaId, [...listLive()]);
    if (need.hasOrphans) await heartbeat.during(() => this.#takeOver());
    else if (!this.#isOnTrial) this.#trials = 0;
    return this.#nextWaitMs(need);
  }

  #nextWaitMs({ hasOrphans, hasLostTurns, othersBeat }: TakeoverNeed): number {
    const watches = hasOrphans || hasLostTurns || othersBeat;
    this.#waitMs = watches ? HEARTBEAT_MS : Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
    return this.#waitMs;
  }

  async #takeOver(): Promise<void> {
    const { db, replicaId, listLive } = this.#deps;
    await this.#takeOverAll(() => adoptReleased(db, replicaId, [...listLive()]));
    if (this.#isOnTrial) return;
    if (this.#trials >= ALONE_FIRST) await this.#takeOverAll(() => adoptSuspects(db, replicaId, false));
    await this.#tryNext();
  }

  async #takeOverAll(adopt: () => Promise<RunRow[]>): Promise<void> {
    while (!this.#deps.draining.aborted) {
      const runs = await adopt();
      for (const run of runs) await this.#resume(run);
      if (runs.length < ADOPT_AT_ONCE) return;
    }
  }

  async #tryNext(): Promise<void> {
    const { db, replicaId, draining } = this.#deps;
    while (!draining.aborted) {
      const [suspect] = await adoptSuspects(db, replicaId, true);
      if (suspect === undefined) {
        this.#trials = 0;
        return;
      }
      if (await this.#setAside(suspect)) continue;
      const turn = await this.#resume(suspect);
      if (turn === undefined) continue;
      this.#isOnTrial = true;
      void this.#watchTrial(turn, suspect.interrupted_by.length);
      return;
    }
  }

  async #watchTrial(turn: LiveTurn, interruptions: number): Promise<void> {
    const { db, logger, draining } = this.#deps;
    await waitForTrial(turn, interruptions);
    // A turn that goes with this replica is released, which asks for no trial.
    if (!draining.aborted) {
      await endTrial(db, turn.key).catch((error: unknown) => logger.warn({ err: error }, 'a trial could not be ended'));
    }
    this.#isOnTrial = false;
    this.#trials += 1;
    this.#onTrialOver();
  }

  /** Whether the suspect is to blame and has been set aside. */
  async #setAside(run: Suspect): Promise<boolean> {
    const failure = judgeSuspect(run);
    if (failure === undefined) return false;
    const { db, logger, replicaId, announce, onRunSettled } = this.#deps;
    const interruptedBy = run.interrupted_by;
    logger.error(
      { runId: run.id, projectId: run.project_id, interruptedBy },
      `a turn is set aside: ${failure.message}`,
    );
    await setAside(db, replicaId, run, failure);
    announce([run.id]);
    onRunSettled({ projectId: run.project_id, runId: run.id, channel: run.channel });
    return true;
  }

  /** Undefined for a turn that cannot be read back now: it stays this replica's without being executed, until later. */
  async #resume(run: RunRow): Promise<LiveTurn | undefined> {
    const { db, logger, execute } = this.#deps;
    try {
      const { state, lastSeq } = await loadTurn(db, run);
      logger.info({ runId: run.id, attempt: run.attempt }, 'taking over a turn');
      const turn = execute({
        key: turnKeyOf(run),
        lastSeq: seqAfterRestart(lastSeq, run.attempt),
        state,
        restarted: { attempt: run.attempt, step: state.nextPosition },
      });
      if (run.cancel_requested_at !== null) turn.abort.abort(new TurnStopped('cancelled'));
      return turn;
    } catch (error) {
      logger.error({ err: error, runId: run.id }, 'a turn that was left behind could not be taken over');
      return undefined;
    }
  }
}
