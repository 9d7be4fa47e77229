/**
 * Runs the jobs of one queue in this process. pg-boss's own worker takes the next job when its timer comes round, or
 * waits for the slowest of a batch; this one fills every free slot as soon as it is free, with one statement for all.
 */
import type { PgBoss } from 'pg-boss';
import { createPausableTicker, elapsedMs, type PausableTicker, setTimer, type Timer } from '../clock/timers.ts';
import type { Database } from '../db/database.ts';
import { beginWork } from '../event-loop/activity.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../periodic/periodic-worker.ts';
import {
  type AbruptEnds,
  beginSuspect,
  countAbruptEnds,
  excuseOutage,
  forgetAbruptEnds,
  forgiveAbruptEnds,
  NO_ABRUPT_ENDS,
  putOffSuspects,
} from './abrupt-ends.ts';
import type { Claim, Job, JobHandler, JobsLogger } from './job.ts';
import { Settlements } from './settlements.ts';
import type { SuspectQueue } from './suspect-queue.ts';

/**
 * Runs that the queue's row allows beyond the ordinary ones: pg-boss counts a run whose process died like one that failed,
 * and must not end the job before this runner has seen it.
 */
export const SPARE_RUNS = 2;

export interface QueueRunnerOptions {
  readonly db: Database;
  readonly logger: JobsLogger;
  /** Of the whole process. */
  readonly suspects: SuspectQueue;
  readonly concurrency: number;
  readonly concurrencyPerGroup: number;
  readonly retryLimit: number;
  readonly abruptEndLimit: number;
  readonly heartbeatMs: number;
  /** See JobsOptions. */
  readonly processesKeepEnding: () => Promise<boolean>;
  /** See JobsOptions. */
  readonly holdJob: () => () => void;
}

interface ClaimedJob extends Claim {
  readonly data: object;
  readonly expireInSeconds: number;
  readonly groupId?: string | null;
}

interface ActiveJob {
  readonly claim: Claim;
  readonly group: string | undefined;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

interface Run {
  readonly abort: AbortController;
  readonly ends: AbruptEnds;
}

/** While some group has all that it may have, others are looked for this often: each look is a statement. */
const OTHERS_INTERVAL_MS = 250;

/** Heartbeats of a running job within the time after which it counts as dead. */
const heartbeatsPerLimit = 3;

export class QueueRunner {
  readonly #boss: PgBoss;
  readonly #name: string;
  readonly #handler: JobHandler<object>;
  readonly #options: QueueRunnerOptions;
  readonly #active = new Map<string, ActiveJob>();
  readonly #settlements: Settlements;
  /** Runs of this process since a heartbeat has failed, by job: they may lapse though the process lives. */
  readonly #unheard = new Map<string, Claim>();
  readonly #fetches: PeriodicWorker;
  /** Ticks while a job runs, or the store is still to be told of one that ran. */
  readonly #heartbeats: PausableTicker;
  #hasStopped = false;
  #othersTimer: Timer | undefined;
  #othersLookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(boss: PgBoss, name: string, handler: JobHandler<object>, options: QueueRunnerOptions) {
    this.#boss = boss;
    this.#name = name;
    this.#handler = handler;
    this.#options = options;
    const { db, logger } = options;
    this.#settlements = new Settlements(boss, { db, name, logger, onFailed: () => this.wake() });
    const everyMs = options.heartbeatMs / heartbeatsPerLimit;
    this.#heartbeats = createPausableTicker(() => void this.#sendHeartbeat(), everyMs, { keepsProcess: true });
    this.#fetches = createPeriodicWorker({
      name: `jobs of ${name}`,
      startsAtOnce: false,
      pass: () => this.#fetch(),
      logger: options.logger,
    });
  }

  /** Begins to take jobs, when it is woken. */
  start(): void {
    this.#fetches.start();
  }

  /** Takes what is ready, if there is room. Cheap to call often: calls during a fetch lead to one more. */
  wake(): void {
    if (this.#active.size < this.#options.concurrency) this.#fetches.wake();
  }

  /** Waits up to `graceMs` for the jobs that run, then aborts the rest and gives them back. */
  async stop(graceMs: number): Promise<void> {
    this.#othersTimer?.cancel();
    await this.#fetches.stop();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimer(resolve, graceMs, { keepsProcess: true });
    const running = [...this.#active.values()];
    await Promise.race([Promise.all(running.map(({ done }) => done)), late]);
    timer.cancel();
    this.#hasStopped = true;
    this.#heartbeats.pause();
    for (const { claim, abort } of this.#active.values()) {
      abort.abort(new Error('the process is stopping'));
      this.#settlements.giveBack(claim);
    }
    this.#active.clear();
    await this.#settlements.flushed();
  }

  async #fetch(): Promise<void> {
    for (;;) {
      const { batchSize, full } = this.#planFetch();
      if (batchSize <= 0 || (full.length > 0 && !this.#mayLookForOthers())) return;
      const jobs = await this.#boss.fetch<object>(this.#name, {
        batchSize,
        ...(full.length > 0 && { ignoreGroups: full }),
      });
      const again = jobs.filter(({ retryCount }) => retryCount > 0);
      const ends = again.length === 0 ? undefined : await this.#judge(again);
      for (const job of jobs) {
        const known = ends === undefined ? NO_ABRUPT_ENDS : ends.get(job.id);
        if (known !== undefined) this.#run(job, known);
      }
      if (jobs.length < batchSize) return;
    }
  }

  /** So few that no group can get more than its share even if all of them are its own; none of groups that have theirs. */
  #planFetch(): { batchSize: number; full: string[] } {
    const { concurrency, concurrencyPerGroup } = this.#options;
    const counts = new Map<string, number>();
    for (const { group } of this.#active.values()) {
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    const full = [...counts].filter(([, count]) => count >= concurrencyPerGroup).map(([group]) => group);
    const most = Math.max(0, ...[...counts.values()].filter((count) => count < concurrencyPerGroup));
    return { batchSize: Math.min(concurrency - this.#active.size, concurrencyPerGroup - most), full };
  }

  /** False where that was done a moment ago; it is done again once the moment is over. */
  #mayLookForOthers(): boolean {
    const waitMs = this.#othersLookedAtMs + OTHERS_INTERVAL_MS - elapsedMs();
    if (waitMs > 0) {
      this.#othersTimer ??= setTimer(() => {
        this.#othersTimer = undefined;
        this.wake();
      }, waitMs);
      return false;
    }
    this.#othersLookedAtMs = elapsedMs();
    return true;
  }

  /**
   * What is known of jobs that do not run for the first time; those that are to wait are put off and left out. Jobs that were
   * claimed must run or be given back, so a store that fails here has them given back.
   */
  async #judge(jobs: readonly ClaimedJob[]): Promise<ReadonlyMap<string, AbruptEnds>> {
    const { db, abruptEndLimit, processesKeepEnding } = this.#options;
    try {
      const counted = await countAbruptEnds(db, this.#name, jobs);
      const known = new Map(jobs.map(({ id }) => [id, counted.get(id) ?? NO_ABRUPT_ENDS]));
      const suspects = jobs.filter(({ id }) => {
        const { sinceProgress = 0, waitIsOver = true } = known.get(id) ?? {};
        return sinceProgress > 0 && sinceProgress < abruptEndLimit && !waitIsOver;
      });
      if (suspects.length > 0 && (await processesKeepEnding())) {
        await putOffSuspects(db, this.#name, suspects);
        for (const { id } of suspects) known.delete(id);
      }
      return known;
    } catch (error) {
      for (const { id, retryCount } of jobs) this.#settlements.fail({ id, retryCount }, 'the store failed');
      throw error;
    }
  }

  #run(job: ClaimedJob, ends: AbruptEnds): void {
    const claim: Claim = { id: job.id, retryCount: job.retryCount };
    if (ends.sinceProgress >= this.#options.abruptEndLimit) {
      this.#giveUp(claim, ends);
      return;
    }
    const abort = new AbortController();
    const release = this.#options.holdJob();
    const done = this.#runInTurn(job, claim, { abort, ends }).finally(() => {
      release();
      if (this.#holds(claim)) this.#active.delete(job.id);
      this.wake();
    });
    this.#active.set(job.id, { claim, group: job.groupId ?? undefined, abort, done });
    if (!this.#hasStopped) this.#heartbeats.resume();
  }

  /** Not of a job that was released at stop, nor of a run that lapsed where the same runner has taken the job again. */
  #holds(claim: Claim): boolean {
    return this.#active.get(claim.id)?.claim === claim;
  }

  #giveUp(claim: Claim, { sinceProgress }: AbruptEnds): void {
    const reason = `its process ended abruptly ${sinceProgress} times while it ran, without progress between them`;
    this.#options.logger.error(
      { job: this.#name, job_id: claim.id, abrupt_ends: sinceProgress },
      `a job is given up: ${reason}`,
    );
    this.#settlements.fail(claim, reason, { forGood: true });
  }

  /** At once, or alone where an earlier run may have been what ended its process. */
  async #runInTurn(job: ClaimedJob, claim: Claim, run: Run): Promise<void> {
    const { suspects, db, logger, retryLimit } = this.#options;
    if (run.ends.sinceProgress === 0) return this.#execute(job, claim, run);
    return suspects.run(async () => {
      if (!this.#holds(claim)) return;
      try {
        if (!(await beginSuspect(db, this.#name, claim, retryLimit + run.ends.total + SPARE_RUNS))) return;
      } catch (error) {
        logger.warn({ err: error, job: this.#name, job_id: job.id }, 'a job could not begin and will run again');
        this.#settlements.fail(claim, 'the store failed');
        return;
      }
      await this.#execute(job, claim, run);
    });
  }

  async #execute(job: ClaimedJob, claim: Claim, { abort, ends }: Run): Promise<void> {
    // A handler that never ends must not keep a process alive that has stopped.
    const timeout = setTimer(() => abort.abort(new Error('the job’s time is up')), job.expireInSeconds * 1_000);
    const attempt = job.retryCount + 1;
    const endWork = beginWork();
    try {
      await this.#handler(this.#describe(job, abort.signal, ends));
      if (this.#holds(claim)) this.#settlements.complete(claim);
      if (ends.total > 0) await this.#forget(job.id);
    } catch (error) {
      if (!this.#holds(claim)) return;
      const isLast = job.retryCount - ends.total >= this.#options.retryLimit;
      const fields = { err: error, job: this.#name, job_id: job.id, attempt };
      if (isLast) this.#options.logger.error(fields, 'a job failed for the last time');
      else this.#options.logger.warn(fields, 'a job failed and will run again');
      this.#settlements.fail(claim, error instanceof Error ? error.message : String(error), { forGood: isLast });
    } finally {
      endWork();
      timeout.cancel();
    }
  }

  #describe({ id, data, retryCount }: ClaimedJob, signal: AbortSignal, ends: AbruptEnds): Job<object> {
    let abruptEnds = ends.sinceProgress;
    const { db } = this.#options;
    return {
      id,
      data,
      attempt: retryCount + 1,
      abruptEnds,
      signal,
      async keepProgress() {
        if (abruptEnds === 0) return;
        await forgiveAbruptEnds(db, id);
        abruptEnds = 0;
      },
    };
  }

  async #forget(id: string): Promise<void> {
    await forgetAbruptEnds(this.#options.db, id).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, job: this.#name }, 'what was counted of a job is left to be swept');
    });
  }

  async #sendHeartbeat(): Promise<void> {
    const claims = [...this.#active.values()].map(({ claim }) => claim);
    if (claims.length + this.#unheard.size === 0) {
      this.#heartbeats.pause();
      return;
    }
    try {
      if (claims.length > 0) await this.#boss.touch(this.#name, claims);
      await this.#excuseUnheard();
    } catch (error) {
      // The first run of a job is the one that lapses: another one here would be that of its retry.
      for (const claim of claims) if (!this.#unheard.has(claim.id)) this.#unheard.set(claim.id, claim);
      this.#options.logger.warn({ err: error, job: this.#name }, 'a heartbeat of running jobs failed');
    }
  }

  /** The database is back: what lapsed meanwhile did so without an end of this process. */
  async #excuseUnheard(): Promise<void> {
    if (this.#unheard.size === 0) return;
    const claims = [...this.#unheard.values()];
    await excuseOutage(this.#options.db, this.#name, claims);
    for (const { id } of claims) this.#unheard.delete(id);
  }
}
