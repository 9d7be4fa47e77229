import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import type { RunSignals } from '../timeline/run-signals.ts';
import type { RunRow } from './run-row.ts';

/** How often a waiter looks by itself, in case a wake-up was lost. */
const LOOK_AGAIN_MS = 1_000;

/** Throws `not_found`. With a smith, the run must be that smith's. */
export async function getRun(db: TenantDb, runId: string, smithId?: string): Promise<RunRow> {
  const row = await findRun(db, runId, smithId);
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/** A run that this server has begun. Throws `storage_unavailable` where it is not there. */
async function getBegunRun(db: TenantDb, runId: string): Promise<RunRow> {
  const row = await findRun(db, runId);
  if (row === undefined) throw runTakenBack();
  return row;
}

/**
 * Runs are never deleted: one that was begun and is not there was taken back with the database, which a crash may do with
 * what did not wait for the disk (decision 9). Nothing of it was kept, so its request can be repeated.
 */
export function runTakenBack(): ApiError {
  return new ApiError('storage_unavailable', {
    retryAfterSeconds: LOOK_AGAIN_MS / 1_000,
    headers: { 'x-should-retry': 'true' },
    message: 'The database was interrupted and has kept nothing of this turn. Repeat the request.',
  });
}

export async function findRun(db: TenantDb, runId: string, smithId?: string): Promise<RunRow | undefined> {
  const { rows } = await db.raw<RunRow>({
    text: 'select * from runs where project_id = $1 and id = $2 and ($3::text is null or smith_id = $3)',
    values: [runId, smithId ?? null],
  });
  return rows[0];
}

/**
 * A run that was begun, once it rests (settled or paused); as it is when `signal` fires or this replica drains first. Throws
 * `storage_unavailable` where the database was interrupted and has lost it.
 */
export async function waitForRest(
  deps: { readonly db: Executor; readonly signals: RunSignals; readonly draining: AbortSignal },
  run: RunRow,
  signal: AbortSignal,
): Promise<RunRow> {
  const db = tenantDb(deps.db, run.project_id);
  const over = AbortSignal.any([signal, deps.draining]);
  const watch = deps.signals.watch(run.id);
  try {
    for (;;) {
      const current = await getBegunRun(db, run.id);
      if (current.status !== 'in_progress' || over.aborted) return current;
      await watch.next(LOOK_AGAIN_MS, over);
    }
  } finally {
    watch.close();
  }
}
