/**
 * Wipes what runs may send to the MCP servers that their requests brought, where nobody goes on with them: paused for 30 days,
 * or of a smith or a project that is archived. Such a run can still be answered where its smith is there: with fresh ones.
 */
import type { Database } from '../../kernel/db/database.ts';

const BATCH_SIZE = 500;

export async function sweepRunCredentials(db: Database, signal: AbortSignal): Promise<void> {
  for (let wiped = BATCH_SIZE; wiped === BATCH_SIZE && !signal.aborted; ) {
    const { rowCount } = await db.query({
      text: `
        with left_behind as (
          select r.project_id, r.id from runs r
          where r.sealed_mcp_credentials is not null and r.status = 'paused' and (
            r.updated_at < now() - interval '30 days'
            or exists (
              select from smiths s where s.project_id = r.project_id and s.id = r.smith_id and s.archived_at is not null)
            or exists (select from projects p where p.id = r.project_id and p.archived_at is not null))
          limit ${BATCH_SIZE} for update of r skip locked
        )
        update runs r set sealed_mcp_credentials = null
        from left_behind l where r.project_id = l.project_id and r.id = l.id`,
      values: [],
    });
    wiped = rowCount;
  }
}
