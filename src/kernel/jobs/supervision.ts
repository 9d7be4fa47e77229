/**
 * Has pg-boss look for jobs that timed out or whose process died, in place of its own timer, which costs an idle installation a dozen
 * statements every ten seconds.
 *
 *   idle ──a job is announced or ready, or IDLE_MS passed: is a job active?──▶ busy: passes, every `intervalMs`
 *     ▲                                                                         │
 *     └──────────────────────────── no job is active ───────────────────────────┘
 *
 * Jobs become active after their announcement, in whichever process, so that a job whose process dies is found as soon as before. One that
 * nobody announced (its time came, or it is a retry) and that another process took may be found IDLE_MS later.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { elapsedMs, setTimer, type Timer } from '../clock/timers.ts';
import type { Database, Executor } from '../db/database.ts';
import type { JobsLogger } from './job.ts';

/** Between two checks while no job is active. */
export const IDLE_MS = 60_000;
/** A pass also deletes what is old and warns of queues that grow: an idle installation needs that rarely. */
export const PASS_AT_LEAST_EVERY_MS = 1_800_000;

export interface SupervisionOptions {
  readonly db: Pick<Database, 'query'>;
  readonly logger: JobsLogger;
  /** One pass of pg-boss over all queues. */
  readonly pass: () => Promise<void>;
  /** Between two passes while jobs are active. */
  readonly intervalMs: number;
}

export interface Supervision {
  start(): void;
  /** A job may be active soon. Cheap enough to call for each. */
  expectJob(): void;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

export function createSupervision({ db, logger, pass, intervalMs }: SupervisionOptions): Supervision {
  let state: 'made' | 'idle' | 'busy' | 'stopped' = 'made';
  let timer: Timer | undefined;
  let checking: Promise<void> = Promise.resolve();
  /** A job was expected while a check was under way. */
  let isExpected = false;
  /** Jobs are announced in the async context of a listener, or of whoever wrote them: no timer must be set there. */
  const runHere = AsyncLocalStorage.snapshot();
  let passedAtMs = 0;

  const check = async (): Promise<void> => {
    isExpected = false;
    let isActive = true;
    try {
      isActive = await hasActiveJob(db);
      if (isActive || elapsedMs() - passedAtMs >= PASS_AT_LEAST_EVERY_MS) {
        await pass();
        passedAtMs = elapsedMs();
      }
    } catch (error) {
      logger.error({ err: error }, 'the job queue failed at its own work');
    }
    if (state !== 'stopped') wait(isActive || isExpected ? 'busy' : 'idle');
  };

  /** The next pass is measured from the end of this one: pg-boss refuses one that begins a moment too early. */
  const wait = (next: 'idle' | 'busy'): void => {
    state = next;
    timer?.cancel();
    timer = setTimer(
      () => {
        timer = undefined;
        checking = check();
      },
      next === 'busy' ? intervalMs : IDLE_MS,
    );
  };

  return {
    start() {
      passedAtMs = elapsedMs();
      wait('busy');
    },
    expectJob() {
      isExpected = true;
      if (state === 'idle' && timer !== undefined) runHere(() => wait('busy'));
    },
    async stop() {
      state = 'stopped';
      timer?.cancel();
      await checking;
    },
  };
}

/** So that the many that are over need not be read for it. */
export async function createActiveIndex(db: Executor): Promise<void> {
  const { rows } = await db.query<{ found: boolean }>({
    text: `select to_regclass('jobs.job_active') is not null as found`,
    values: [],
  });
  if (rows[0]?.found === true) return;
  await db.query({ text: `create index if not exists job_active on jobs.job_common (name) where state = 'active'` });
}

async function hasActiveJob(db: Pick<Database, 'query'>): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>({
    text: `select exists (select from jobs.job_common where state = 'active') as found`,
    values: [],
  });
  return rows[0]?.found === true;
}
