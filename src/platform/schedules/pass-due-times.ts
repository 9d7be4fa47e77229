/** What is due becomes deliveries: one indexed read a batch, however many schedules there are. */
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { type DueSchedule, findNextDue, holdDueSchedules, type PassedTime, passDueTimes } from './due-store.ts';
import { findNextFire } from './fire-times.ts';

/** Next times are computed on the main thread: ten milliseconds of it. */
const BATCH_SIZE = 100;

export interface DueDependencies {
  readonly db: Database;
  readonly now: () => Date;
  readonly logger: { error(fields: object, message: string): void };
}

/**
 * Passes one batch of due times; how many there were, less than `BATCH_SIZE` at the end. A schedule that was due several
 * times while nobody looked is delivered once: the next time is counted from now on.
 */
async function passBatch({ db, now, logger }: DueDependencies): Promise<number> {
  return db.transaction(async (tx) => {
    const at = now();
    const due = await holdDueSchedules(tx, at, BATCH_SIZE);
    if (due.length === 0) return 0;
    await passDueTimes(
      tx,
      due.map((schedule) => passedTime(schedule, at, logger)),
      at,
    );
    return due.length;
  });
}

/** Passes all that is due, and calls back after each batch. Resolves with the milliseconds until the next, where nothing is. */
export async function passAllDue(
  deps: DueDependencies,
  signal: AbortSignal,
  onPassed: () => void,
): Promise<number | undefined> {
  const due = await findNextDue(deps.db);
  if (due === undefined) return undefined;
  const waitMs = due.getTime() - deps.now().getTime();
  if (waitMs > 0) return waitMs;
  for (let passed = BATCH_SIZE; passed === BATCH_SIZE && !signal.aborted; ) {
    passed = await passBatch(deps);
    if (passed > 0) onPassed();
  }
  return undefined;
}

function passedTime(schedule: DueSchedule, at: Date, logger: DueDependencies['logger']): PassedTime {
  const { project_id, id, smith_id, due_at, is_archived, was_passed } = schedule;
  // What has come due since one that was passed before is still to be delivered.
  const next = is_archived ? undefined : nextTime(schedule, was_passed ? due_at : at, logger);
  return {
    project_id,
    schedule_id: id,
    smith_id,
    due_at: due_at.toISOString(),
    next_fire_at: next?.toISOString() ?? null,
    delivery_id: is_archived || was_passed ? undefined : mintId('schd'),
  };
}

/** One that can no longer be computed, as its zone is gone from the system, must not hold up the others. */
function nextTime(schedule: DueSchedule, at: Date, logger: DueDependencies['logger']): Date | undefined {
  const { id, cron, timezone, due_at } = schedule;
  try {
    // A replica whose clock is slow passes no time twice.
    return findNextFire(cron, timezone, at > due_at ? at : due_at);
  } catch (error) {
    logger.error({ err: error, schedule: id, timezone }, 'a schedule has no next time any more');
    return undefined;
  }
}
