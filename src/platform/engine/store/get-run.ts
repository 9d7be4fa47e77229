import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import type { RunSignals } from '../timeline/run-signals.ts';
import type { RunRow } from './run-row.ts';

/** Throws `not_found`. With a smith, the run must be that smith's. */
export async function getRun(db: TenantDb, runId: string, smithId?: string): Promise<RunRow> {
  const { rows } = await db.raw<RunRow>({
    text: 'select * from runs where project_id = $1 and id = $2 and ($3::text is null or smith_id = $3)',
    values: [runId, smithId ?? null],
  });
  const row = rows[0];
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/** How often a waiter looks by itself, in case a wake-up was lost. */
const LOOK_AGAIN_MS = 1_000;

/** The run once it rests (settled or paused); as it is when `signal` fires or this replica drains first. */
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
      const current = await getRun(db, run.id);
      if (current.status !== 'in_progress' || over.aborted) return current;
      await watch.next(LOOK_AGAIN_MS, over);
    }
  } finally {
    watch.close();
  }
}
