/**
 * Work that outlives a request: jobs are rows, written in the caller's transaction and run by any replica. pg-boss keeps
 * them (schema `jobs`); this port decides how many run here at a time.
 *
 *   enqueue ─▶ waiting ─▶ active ─▶ done
 *                 ▲         │ throws, times out, or its process dies
 *                 └─ retry ─┘ … until the retries are used up, or its process has died twice over it
 *                              ─▶ failed (kept for a week, and logged)
 *
 * A job runs at least once: when a process dies between taking a job and finishing it, the job runs again, so handlers are
 * idempotent. One whose process died is a suspect until it makes progress: suspects run one at a time in a process, and one
 * whose process dies again does not run a third time, see docs/decisions/0012-abrupt-ends.md. Time is the database's, so that replicas agree.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PgBoss } from 'pg-boss';
import type { Database, Executor } from '../db/database.ts';
import { createPeriodicWorker, type PeriodicWorker, SPARE_LOOK_MS } from '../periodic/periodic-worker.ts';
import { adaptExecutor } from './boss-adapter.ts';
import type { JobHandler, JobsLogger } from './job.ts';
import { QueueRunner, SPARE_RUNS } from './queue-runner.ts';
import { findReadyQueues } from './ready-queues.ts';
import { createSharedBoss, type HeldBoss, NO_JOB, type SharedBoss } from './shared-boss.ts';
import { SuspectQueue } from './suspect-queue.ts';

export type { Job, JobHandler, JobsLogger } from './job.ts';

export interface QueueOptions {
  /** Jobs of this name that run in this process at a time. Default 5. */
  readonly concurrency?: number;
  /** Of these, jobs of one group (see EnqueueOptions) at a time, so that others find room. Default: all. */
  readonly concurrencyPerGroup?: number;
  /** Runs after the first; one that the end of its process cut off, abrupt or in order, does not count. Default 3. */
  readonly retryLimit?: number;
  /**
   * Abrupt ends of its process (killed, out of memory, blocked until the heartbeat lapsed) without progress between them
   * after which a job fails for good. A process that stops in order gives its jobs back, which does not count. Default 2.
   * Infinity: the handler itself judges by `job.abruptEnds`.
   */
  readonly abruptEndLimit?: number;
  /** Wait before the first retry. Default 1; 0: at once, each time. */
  readonly retryDelaySeconds?: number;
  /** Double the wait with each retry, up to this. Default 3,600; equal to the delay: a constant wait. */
  readonly retryDelayMaxSeconds?: number;
  /** Longest run; then the signal is aborted and the job counts as failed. Default 900. */
  readonly timeoutSeconds?: number;
}

export interface EnqueueOptions {
  /** While a job with this key waits for its first run, another is not added. One that runs already does not count. */
  readonly singletonKey?: string;
  /** Whose job it is, for `concurrencyPerGroup`. */
  readonly group?: string;
  /** Not before this time. */
  readonly startAfter?: Date;
}

export interface ScheduleOptions {
  /** IANA name; cron times are read in it. Default UTC. */
  readonly timezone?: string;
}

export interface JobsOptions {
  readonly logger: JobsLogger;
  /** A fallback: wake-ups start jobs at once, polling finds retries and jobs whose time has come. Default 2,000. */
  readonly pollIntervalMs?: number;
  /** After so long without a heartbeat a job counts as dead and runs elsewhere. Default 15, at least 10. */
  readonly heartbeatSeconds?: number;
  /** Default: one of its own. */
  readonly boss?: SharedBoss | undefined;
  /** Of its own one: how often it looks for dead jobs while jobs are active. Default 10. */
  readonly superviseSeconds?: number;
  /**
   * Whether processes go on ending abruptly, as they do where an operator or a lack of memory ends them: a suspect waits then,
   * for a quarter of an hour at most, as its next run would be cut off, too. Default: not known, so none waits.
   */
  readonly processesKeepEnding?: () => Promise<boolean>;
  /**
   * Called when this process takes a job; the function that it returns, when the process has the job no more. What tells whether processes
   * keep ending has to know of one that ends in between. Default: nothing.
   */
  readonly holdJob?: () => () => void;
}

export interface Jobs {
  /** Before `start`. Names: letters, digits, `-`, `_`, `.`, `/`. */
  define<Data extends object>(name: string, handler: JobHandler<Data>, options?: QueueOptions): void;
  /**
   * Adds a job; it exists when the executor's transaction commits. The id, or undefined when one with the same singleton
   * key waits already. `data` must survive JSON.
   */
  enqueue(executor: Executor, name: string, data: object, options?: EnqueueOptions): Promise<string | undefined>;
  /** Before `start`. Adds a job at each time of the cron expression (minutes are the finest), once for all replicas. */
  schedule(name: string, cron: string, data: object, options?: ScheduleOptions): void;
  /** Creates what the database lacks and begins to run jobs. */
  start(): Promise<void>;
  /**
   * Takes no more jobs, waits up to `graceMs` for those that run, then aborts them, to be run again. Default 10,000.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

export function createJobs(db: Database, options: JobsOptions): Jobs {
  return new BossJobs(db, options);
}

interface Definition {
  readonly handler: JobHandler<object>;
  readonly options: QueueOptions;
}

interface ScheduleDefinition {
  readonly name: string;
  readonly cron: string;
  readonly data: object;
  readonly timezone: string;
}

const DEFAULT_RETRY_LIMIT = 3;
const DEFAULT_ABRUPT_END_LIMIT = 2;
const daySeconds = 86_400;

class BossJobs implements Jobs {
  readonly #db: Database;
  readonly #options: JobsOptions;
  readonly #definitions = new Map<string, Definition>();
  readonly #schedules: ScheduleDefinition[] = [];
  readonly #runners = new Map<string, QueueRunner>();
  readonly #suspects = new SuspectQueue();
  #boss: PgBoss | undefined;
  #looks: PeriodicWorker | undefined;
  #held: HeldBoss | undefined;
  #started = false;

  constructor(db: Database, options: JobsOptions) {
    this.#db = db;
    this.#options = options;
  }

  define<Data extends object>(name: string, handler: JobHandler<Data>, options: QueueOptions = {}): void {
    if (this.#started) throw new Error(`define the job ${name} before start()`);
    if (this.#definitions.has(name)) throw new Error(`the job ${name} is defined twice`);
    // What is enqueued under a name is what its handler takes: the name ties them, not the type.
    this.#definitions.set(name, { handler: handler as JobHandler<object>, options });
  }

  schedule(name: string, cron: string, data: object, options: ScheduleOptions = {}): void {
    if (this.#started) throw new Error(`schedule the job ${name} before start()`);
    this.#requireDefined(name);
    this.#schedules.push({ name, cron, data, timezone: options.timezone ?? 'UTC' });
  }

  async enqueue(
    executor: Executor,
    name: string,
    data: object,
    options: EnqueueOptions = {},
  ): Promise<string | undefined> {
    this.#requireDefined(name);
    if (this.#boss === undefined) throw new Error(`start() the jobs before enqueueing ${name}`);
    const id = await this.#boss.send(name, data, {
      db: adaptExecutor(executor),
      // The queue admits one waiting job a key; a job that asks for no such limit gets a key of its own.
      singletonKey: options.singletonKey ?? crypto.randomUUID(),
      ...(options.group !== undefined && { group: { id: options.group } }),
      ...(options.startAfter !== undefined && { startAfter: options.startAfter }),
    });
    return id ?? undefined;
  }

  async start(): Promise<void> {
    if (this.#started) throw new Error('the jobs are started already');
    this.#started = true;
    const { boss: shared = createSharedBoss({ ...this.#options, db: this.#db }) } = this.#options;
    const held = await shared.hold({
      wake: (name) => this.#runners.get(name)?.wake(),
      wakeAll: () => {
        for (const runner of this.#runners.values()) runner.wake();
      },
    });
    this.#held = held;
    const { boss, known } = held;
    const updated = new Set(await this.#applyQueues(boss));
    await this.#applySchedules(boss);
    for (const name of this.#definitions.keys()) {
      // pg-boss knows those that were there when it started, and forgets those that it updates. To know of another, it asks for it, which it
      // may not do in the transaction of whoever enqueues: so it does now. This process or another may have created it meanwhile.
      if (!known.has(name) || updated.has(name)) await boss.findJobs(name, { id: NO_JOB });
    }
    // Before the first job runs, as it may enqueue others.
    this.#boss = boss;
    for (const [name, { handler, options }] of this.#definitions) {
      const runner = new QueueRunner(boss, name, handler, {
        db: this.#db,
        logger: this.#options.logger,
        suspects: this.#suspects,
        concurrency: options.concurrency ?? 5,
        concurrencyPerGroup: options.concurrencyPerGroup ?? Number.POSITIVE_INFINITY,
        retryLimit: options.retryLimit ?? DEFAULT_RETRY_LIMIT,
        abruptEndLimit: options.abruptEndLimit ?? DEFAULT_ABRUPT_END_LIMIT,
        heartbeatMs: this.#heartbeatSeconds * 1_000,
        processesKeepEnding: this.#options.processesKeepEnding ?? (async () => false),
        holdJob: this.#options.holdJob ?? (() => () => undefined),
      });
      this.#runners.set(name, runner);
      runner.start();
    }
    this.#looks = createPeriodicWorker({
      name: 'jobs that are ready',
      intervalMs: this.#options.pollIntervalMs ?? 2_000,
      store: this.#db,
      // What changes in pg-boss's own tables is no use of the store.
      quietMs: SPARE_LOOK_MS,
      pass: () => this.#wakeReady(),
      logger: this.#options.logger,
    });
    this.#looks.start();
  }

  async #wakeReady(): Promise<number | undefined> {
    const { names, nextInMs } = await findReadyQueues(this.#db, [...this.#runners.keys()]);
    if (names.length > 0) this.#held?.expectJob();
    for (const name of names) this.#runners.get(name)?.wake();
    return names.length > 0 ? 0 : nextInMs;
  }

  async stop({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    await this.#looks?.stop();
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop(graceMs)));
    this.#runners.clear();
    const held = this.#held;
    this.#held = undefined;
    this.#boss = undefined;
    await held?.release();
  }

  get #heartbeatSeconds(): number {
    return this.#options.heartbeatSeconds ?? 15;
  }

  /** Most starts find the queues as they left them: what is the same is left alone. The names of those that were there and are others now. */
  async #applyQueues(boss: PgBoss): Promise<string[]> {
    let stored = await readQueues(boss);
    const missing = [...this.#definitions].filter(([name]) => !stored.has(name));
    for (const [name, { options }] of missing) {
      await boss.createQueue(name, { ...this.#queueSettings(options), policy: 'short' });
    }
    // Another process may have created them meanwhile, with the settings of its release.
    if (missing.length > 0) stored = await readQueues(boss);
    const updated: string[] = [];
    for (const [name, { options }] of this.#definitions) {
      const settings = this.#queueSettings(options);
      const queue = stored.get(name);
      if (queue !== undefined && hasSettings(queue, settings)) continue;
      await boss.updateQueue(name, settings);
      updated.push(name);
    }
    return updated;
  }

  #queueSettings(options: QueueOptions) {
    const retryDelay = options.retryDelaySeconds ?? 1;
    const retryDelayMax = Math.max(options.retryDelayMaxSeconds ?? 3_600, retryDelay);
    const doubles = retryDelay > 0 && retryDelayMax > retryDelay;
    return {
      notify: true,
      retryLimit: (options.retryLimit ?? DEFAULT_RETRY_LIMIT) + SPARE_RUNS,
      retryDelay,
      ...(doubles ? { retryBackoff: true, retryDelayMax } : { retryBackoff: false }),
      expireInSeconds: options.timeoutSeconds ?? 900,
      heartbeatSeconds: this.#heartbeatSeconds,
      deleteAfterSeconds: 7 * daySeconds,
    };
  }

  /**
   * The database keeps the schedules of the jobs that are defined here as the program has them: others are removed. The
   * schedules of other jobs are not ours: several services share the queue.
   */
  async #applySchedules(boss: PgBoss): Promise<void> {
    const wanted = new Map(this.#schedules.map((schedule, index) => [`schedule-${index}`, schedule]));
    const stored = await boss.getSchedules();
    for (const { name, key } of stored) {
      if (this.#definitions.has(name) && wanted.get(key)?.name !== name) await boss.unschedule(name, key);
    }
    for (const [key, schedule] of wanted) {
      const { name, cron, data, timezone } = schedule;
      const known = stored.find((one) => one.name === name && one.key === key);
      if (known !== undefined && hasSettings(known, schedule)) continue;
      await boss.schedule(name, cron, data, { tz: timezone, key, singletonKey: key });
    }
  }

  #requireDefined(name: string): void {
    if (!this.#definitions.has(name)) throw new Error(`the job ${name} is not defined: define() it first`);
  }
}

async function readQueues(boss: PgBoss) {
  return new Map((await boss.getQueues()).map((queue) => [queue.name, queue]));
}

function hasSettings(queue: object, settings: object): boolean {
  return isDeepStrictEqual({ ...queue, ...settings }, { ...queue });
}
