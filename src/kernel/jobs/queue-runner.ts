/**
 * Runs the jobs of one queue in this process. pg-boss's own worker takes the next job when its timer comes round, or
 * waits for the slowest of a batch; this one fills every free slot as soon as it is free, with one statement for all.
 */
import type { PgBoss } from 'pg-boss';
import { createPeriodicWorker, type PeriodicWorker } from '../periodic/periodic-worker.ts';
import type { Claim, JobHandler, JobsLogger } from './job.ts';
import { Settlements } from './settlements.ts';

export interface QueueRunnerOptions {
  readonly logger: JobsLogger;
  readonly concurrency: number;
  readonly retryLimit: number;
  readonly pollIntervalMs: number;
  readonly heartbeatMs: number;
}

interface ClaimedJob extends Claim {
  readonly data: object;
  readonly expireInSeconds: number;
}

interface ActiveJob {
  readonly claim: Claim;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** Heartbeats of a running job within the time after which it counts as dead. */
const heartbeatsPerLimit = 3;

export class QueueRunner {
  readonly #boss: PgBoss;
  readonly #name: string;
  readonly #handler: JobHandler<object>;
  readonly #options: QueueRunnerOptions;
  readonly #active = new Map<string, ActiveJob>();
  readonly #settlements: Settlements;
  readonly #fetches: PeriodicWorker;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(boss: PgBoss, name: string, handler: JobHandler<object>, options: QueueRunnerOptions) {
    this.#boss = boss;
    this.#name = name;
    this.#handler = handler;
    this.#options = options;
    this.#settlements = new Settlements(boss, name, options.logger, () => this.wake());
    this.#fetches = createPeriodicWorker({
      name: `jobs of ${name}`,
      intervalMs: options.pollIntervalMs,
      pass: () => this.#fetch(),
      logger: options.logger,
    });
  }

  async start(): Promise<void> {
    this.#heartbeat = setInterval(() => this.#sendHeartbeat(), this.#options.heartbeatMs / heartbeatsPerLimit);
    this.#fetches.start();
    // A first fetch that fails is logged and repeated: a database that is unreachable for a while must not end the runner.
    await this.#fetches.runPass().catch(() => undefined);
  }

  /** Takes what is ready, if there is room. Cheap to call often: calls during a fetch lead to one more. */
  wake(): void {
    if (this.#active.size < this.#options.concurrency) this.#fetches.wake();
  }

  /** Waits up to `graceMs` for the jobs that run, then aborts the rest and gives them back. */
  async stop(graceMs: number): Promise<void> {
    await this.#fetches.stop();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, graceMs);
    const running = [...this.#active.values()];
    await Promise.race([Promise.all(running.map(({ done }) => done)), late]);
    clearTimeout(timer);
    clearInterval(this.#heartbeat);
    for (const { claim, abort } of this.#active.values()) {
      abort.abort(new Error('the process is stopping'));
      this.#settlements.fail(claim, 'the process stopped while the job ran');
    }
    this.#active.clear();
    await this.#settlements.flushed();
  }

  async #fetch(): Promise<void> {
    const room = this.#options.concurrency - this.#active.size;
    if (room <= 0) return;
    const jobs = await this.#boss.fetch<object>(this.#name, { batchSize: room });
    for (const job of jobs) this.#run(job);
  }

  #run(job: ClaimedJob): void {
    const claim: Claim = { id: job.id, retryCount: job.retryCount };
    const abort = new AbortController();
    const done = this.#execute(job, claim, abort).finally(() => {
      // A job that was released at stop is not this runner's any more.
      this.#active.delete(job.id);
      this.wake();
    });
    this.#active.set(job.id, { claim, abort, done });
  }

  async #execute(job: ClaimedJob, claim: Claim, abort: AbortController): Promise<void> {
    const timeout = setTimeout(() => abort.abort(new Error('the job’s time is up')), job.expireInSeconds * 1_000);
    // A handler that never ends must not keep a process alive that has stopped.
    timeout.unref();
    const attempt = job.retryCount + 1;
    try {
      await this.#handler({ id: job.id, data: job.data, attempt, signal: abort.signal });
      if (this.#active.has(job.id)) this.#settlements.complete(claim);
    } catch (error) {
      if (!this.#active.has(job.id)) return;
      const isLast = job.retryCount >= this.#options.retryLimit;
      const fields = { err: error, job: this.#name, job_id: job.id, attempt };
      if (isLast) this.#options.logger.error(fields, 'a job failed for the last time');
      else this.#options.logger.warn(fields, 'a job failed and will run again');
      this.#settlements.fail(claim, error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(timeout);
    }
  }

  #sendHeartbeat(): void {
    const claims = [...this.#active.values()].map(({ claim }) => claim);
    if (claims.length === 0) return;
    this.#boss.touch(this.#name, claims).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, job: this.#name }, 'a heartbeat of running jobs failed');
    });
  }
}
