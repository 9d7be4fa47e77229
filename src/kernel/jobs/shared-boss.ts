/**
 * pg-boss, one instance of it for all services of a process: each instance looks at all queues, schedules and running jobs of the
 * store, whichever service has defined them.
 */
import type { PgBoss } from 'pg-boss';
import type { Database } from '../db/database.ts';
import { isMadeMeanwhile, sqlState, sqlStateOf } from '../db/sql-errors.ts';
import { createAbruptEnds } from './abrupt-ends.ts';
import { adaptExecutor, type WakeUps } from './boss-adapter.ts';
import { bossClock } from './boss-clock.ts';
import type { JobsLogger } from './job.ts';
import { createMeasurements } from './stored-gauge.ts';
import { createActiveIndex, createSupervision, type Supervision } from './supervision.ts';

/** In which pg-boss keeps its tables. */
const JOBS_SCHEMA = 'jobs';
/** The id of none. */
export const NO_JOB = '00000000-0000-0000-0000-000000000000';
/** The queue by which pg-boss hands on what a schedule has made due. */
const SEND_IT = '__pgboss__send-it';
/** Of pg-boss's looks at what seldom changes: indexes that an update builds, and queues of other processes. */
const SELDOM_SECONDS = 600;
const DEFAULT_SUPERVISE_SECONDS = 10;

export interface BossOptions {
  readonly db: Database;
  readonly logger: JobsLogger;
  /** Between two looks for dead jobs while jobs are active. Default 10. */
  readonly superviseSeconds?: number;
}

export interface SharedBoss {
  /** Starts it for the first. `wakeUps` are told of jobs of every name. */
  hold(wakeUps: WakeUps): Promise<HeldBoss>;
}

export interface HeldBoss {
  readonly boss: PgBoss;
  /** Names of the queues that were there when it started: of others it knows once it is asked for them. */
  readonly known: ReadonlySet<string>;
  /** A job may be active soon. */
  expectJob(): void;
  /** The last one stops it. */
  release(): Promise<void>;
}

interface Opened extends Pick<HeldBoss, 'boss' | 'known'> {
  readonly supervision: Supervision;
}

export function createSharedBoss(options: BossOptions): SharedBoss {
  const holders = new Set<WakeUps>();
  let opening: Promise<Opened> | undefined;
  const leave = (wakeUps: WakeUps): boolean => {
    if (!holders.delete(wakeUps) || holders.size > 0) return false;
    opening = undefined;
    return true;
  };
  return {
    async hold(wakeUps) {
      holders.add(wakeUps);
      opening ??= open(options, holders);
      try {
        const { boss, known, supervision } = await opening;
        return {
          boss,
          known,
          expectJob: () => supervision.expectJob(),
          async release() {
            if (!leave(wakeUps)) return;
            await supervision.stop();
            await boss.stop({ graceful: false, close: false });
          },
        };
      } catch (error) {
        leave(wakeUps);
        throw error;
      }
    },
  };
}

async function open(options: BossOptions, holders: ReadonlySet<WakeUps>): Promise<Opened> {
  const { db, logger, superviseSeconds = DEFAULT_SUPERVISE_SECONDS } = options;
  let supervision: Supervision | undefined;
  const wakeUps: WakeUps = {
    wake(name) {
      // Also those of other processes, which may die over them.
      supervision?.expectJob();
      for (const holder of holders) holder.wake(name);
    },
    wakeAll() {
      supervision?.expectJob();
      for (const holder of holders) holder.wakeAll();
    },
  };
  const known = await readQueueNames(db);
  const boss = await openBoss(options, wakeUps);
  await openTables(db);
  await hearSchedules(boss);
  supervision = createSupervision({ db, logger, pass: () => boss.supervise(), intervalMs: superviseSeconds * 1_000 });
  supervision.start();
  return { boss, known, supervision };
}

/** None before the first start has installed the queue. */
async function readQueueNames(db: Database): Promise<ReadonlySet<string>> {
  try {
    const { rows } = await db.query<{ name: string }>({ text: `select name from ${JOBS_SCHEMA}.queue`, values: [] });
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    if (sqlStateOf(error) !== sqlState.undefinedTable) throw error;
    return new Set();
  }
}

async function openBoss(options: BossOptions, wakeUps: WakeUps): Promise<PgBoss> {
  try {
    return await startBoss(options, wakeUps);
  } catch (error) {
    // Of two processes that install the queue at once, the second may not see yet that its schema is there; now it does.
    if (!isMadeMeanwhile(error)) throw error;
    return startBoss(options, wakeUps);
  }
}

async function startBoss(options: BossOptions, wakeUps: WakeUps): Promise<PgBoss> {
  const { db, logger, superviseSeconds = DEFAULT_SUPERVISE_SECONDS } = options;
  // Loaded here, as a process that runs no jobs needs none of it.
  const { PgBoss } = await import('pg-boss');
  const embedded = db.kind === 'embedded';
  const boss = new PgBoss({
    db: adaptExecutor(db, db, wakeUps),
    schema: JOBS_SCHEMA,
    backend: embedded ? 'pglite' : 'postgres',
    useListenNotify: true,
    // See supervision.ts. Without it there are no flows either, which nothing uses.
    supervise: false,
    monitorIntervalSeconds: superviseSeconds,
    queueCacheIntervalSeconds: SELDOM_SECONDS,
    bamIntervalSeconds: SELDOM_SECONDS,
    // A fallback: see hearSchedules.
    cronWorkerIntervalSeconds: 45,
    maintenanceIntervalSeconds: 3_600,
    // Both look after a server with background processes; the embedded store looks after itself.
    monitorVacuum: !embedded,
    reindex: !embedded,
    clock: bossClock,
  });
  boss.on('error', (error) => logger.error({ err: error }, 'the job queue failed at its own work'));
  boss.on('warning', (warning) => logger.warn({ warning }, 'the job queue warns'));
  await boss.start();
  return boss;
}

async function openTables(db: Database): Promise<void> {
  for (const create of [createAbruptEnds, createMeasurements, createActiveIndex]) {
    try {
      await create(db);
    } catch (error) {
      // Likewise.
      if (!isMadeMeanwhile(error)) throw error;
      await create(db);
    }
  }
}

/** Has what a schedule has made due announced as other jobs are, so that pg-boss need not ask for it every few seconds. */
async function hearSchedules(boss: PgBoss): Promise<void> {
  const queue = (await boss.getQueues([SEND_IT]))[0];
  if (queue === undefined || queue.notify === true) return;
  await boss.updateQueue(SEND_IT, { notify: true });
  // It forgets what it knows of a queue that it updates.
  await boss.findJobs(SEND_IT, { id: NO_JOB });
}
