/** The stored timeline of one run. */

import type { Executor } from '../../../kernel/db/database.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject, RunStatus } from '../../tables.ts';
import { type StoredFrame, unfoldRow } from '../store/stored-frame.ts';

/** Rows read at once: a long timeline passes through in pieces. */
const PAGE = 500;

/** The next frames beyond `after`, oldest first, those of one page of rows at most. */
export async function readFrames(db: TenantDb, runId: string, after: number): Promise<StoredFrame[]> {
  const { rows } = await db.raw<{ seq: number; type: string; data: JsonObject; created_at: Date }>({
    text: `
      select seq, type, data, created_at from run_events
      where project_id = $1 and run_id = $2 and seq > $3 order by seq limit ${PAGE}`,
    values: [runId, after],
  });
  return rows
    .flatMap((row) => unfoldRow({ ...row, created_at: row.created_at.toISOString() }))
    .filter(({ seq }) => seq > after);
}

/** The run's status; a run that is not there counts as settled: nothing will follow. */
export async function readStatus(db: Executor, projectId: string, runId: string): Promise<RunStatus> {
  const { rows } = await db.query<{ status: RunStatus }>({
    text: 'select status from runs where project_id = $1 and id = $2',
    values: [projectId, runId],
  });
  return rows[0]?.status ?? 'failed';
}
