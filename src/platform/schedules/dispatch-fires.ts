/**
 * Deliveries that wait, each begun once.
 *
 *   queued ──claim──▶ queued, leased ──turn begun──▶ started
 *     ▲                    │     ├──── none can begin ──▶ failed
 *     └── busy, full, or lease over
 */
import type { Database } from '../../kernel/db/database.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Engine } from '../engine/index.ts';
import { type Attempted, Dispatcher, judgeFailure } from '../turn-queues/index.ts';
import {
  type ClaimedSmith,
  claimSmiths,
  type QueuedFire,
  readOldest,
  resumeSmiths,
  type SettledQueue,
  settleQueues,
} from './queue-store.ts';
import { startFire } from './start-fire.ts';

const MAX_STARTS = 32;
/** Failures in a row, of a database that answers, until a delivery is given up. */
const MAX_FAILURES = 10;
/** Claims that nobody settled, as whoever starts the delivery dies of it. */
const MAX_CLAIMS = 5;

const GIVEN_UP = {
  code: 'internal_error',
  message:
    'The turn could not be begun, several times in a row. Run the schedule again, and report it if that fails too.',
};

export interface FireDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
  readonly metrics: Metrics;
  /** There is room for more, or something is due. */
  readonly wake: () => void;
}

export type FireDispatcher = Dispatcher<ClaimedSmith, SettledQueue>;

export function createFireDispatcher({ db, engine, now, logger, metrics, wake }: FireDependencies): FireDispatcher {
  const lag = metrics.histogram(
    'schedule_lag_seconds',
    'Time from when a delivery of a schedule was due until its turn began or was refused, by outcome: started or failed',
    ['outcome'],
  );
  const observe = (outcome: 'started' | 'failed', { due_at }: QueuedFire): void => {
    lag.observe({ outcome }, Math.max(0, now().getTime() - due_at.getTime()) / 1_000);
  };

  async function attempt(queue: ClaimedSmith, fire: QueuedFire | undefined): Promise<Attempted<SettledQueue>> {
    const { project_id, smith_id, version } = queue;
    const waits = { project_id, smith_id, version, ...NOTHING };
    if (fire === undefined) return { settled: { ...waits, next: 'empty' }, outcome: 'other' };
    const ended = { ...waits, fire_id: fire.id, schedule_id: fire.schedule_id, next: nextOf(fire) };
    const giveUp = (error: unknown): Attempted<SettledQueue> => {
      logger.warn({ err: error, delivery: fire.id, schedule: fire.schedule_id }, 'a delivery is given up');
      observe('failed', fire);
      return { settled: { ...ended, status: 'failed', error: GIVEN_UP }, outcome: 'other' };
    };
    if (queue.claims > MAX_CLAIMS) return giveUp(undefined);
    try {
      const { segment, live } = await startFire(engine, fire, queue.claims > 1 || queue.failures > 0);
      observe('started', fire);
      const settled: SettledQueue = { ...ended, status: 'started', run_id: segment.run.id };
      return { settled, outcome: 'begun', done: live?.done };
    } catch (error) {
      const failure = judgeFailure(error);
      switch (failure.kind) {
        case 'busy':
          return { settled: { ...waits, next: 'busy' }, outcome: 'busy' };
        case 'full':
          return { settled: { ...waits, next: 'due' }, outcome: 'full' };
        case 'failed':
          if (queue.failures >= MAX_FAILURES && !failure.isUnavailable) return giveUp(error);
          logger.warn({ err: error, delivery: fire.id }, 'a turn could not be begun; it is tried again');
          return { settled: { ...waits, next: 'failed' }, outcome: 'other' };
        case 'refused':
          observe('failed', fire);
          return { settled: { ...ended, status: 'failed', error: failure.error }, outcome: 'other' };
      }
    }
  }

  const queues = {
    claim: (request: Parameters<typeof claimSmiths>[1]) => claimSmiths(db, request),
    async read(claimed: readonly ClaimedSmith[]) {
      const fires = await readOldest(db, claimed);
      const bySmith = new Map(fires.map((fire) => [keyOf(fire), fire]));
      return (queue: ClaimedSmith) => attempt(queue, bySmith.get(keyOf(queue)));
    },
    settle: (settled: readonly SettledQueue[]) => settleQueues(db, settled, now()),
    resume: (owners: Parameters<typeof resumeSmiths>[1]) => resumeSmiths(db, owners, now()),
  };
  return new Dispatcher({ queues, maxStarts: MAX_STARTS, logger, wake }, now);
}

const NOTHING = {
  schedule_id: undefined,
  status: undefined,
  fire_id: undefined,
  run_id: undefined,
  error: undefined,
} as const;

/** What comes behind a delivery that is settled. */
function nextOf({ has_next }: QueuedFire): SettledQueue['next'] {
  return has_next ? 'due' : 'empty';
}

function keyOf(queue: { readonly project_id: string; readonly smith_id: string }): string {
  return `${queue.project_id}/${queue.smith_id}`;
}
