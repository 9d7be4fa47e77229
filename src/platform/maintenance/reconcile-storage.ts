/**
 * What each project's files, skills, UI bundles, vector stores and workspaces of sandboxes take, counted anew. The counts change with the rows themselves and do not drift; what replicas
 * of an earlier version write beside this one, or an operator by hand, is made good here.
 */
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';

/** What counts, row by row. */
const STORED = `
  select project_id, bytes from files
  union all select project_id, usage_bytes from vector_stores where deleted_at is null
  union all select project_id, archive_bytes from skill_versions
  union all select project_id, bytes from ui_bundles
  union all select project_id, archive_bytes from sandbox_boxes`;

/** Corrects the counts of the projects that store something else. */
export async function reconcileStorage(
  { db, logger }: { readonly db: Database; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  // One statement sees the files and the count of a project as one transaction left them.
  const { rows } = await db.query<{ project_id: string }>({
    text: `
      select coalesce(counted.project_id, stored.project_id) as project_id
      from project_storage counted
      full join (select project_id, sum(bytes) as bytes from (${STORED}) as stored_things group by project_id) stored
        on stored.project_id = counted.project_id
      where coalesce(counted.used_bytes, 0) <> coalesce(stored.bytes, 0)`,
    values: [],
  });
  for (const { project_id: projectId } of rows) {
    if (signal.aborted) return;
    await recount(db, projectId);
    logger.warn({ project: projectId }, 'the count of what a project stores was wrong, and is corrected');
  }
}

/** Whoever adds or removes a file, or indexes one, waits for the row: once it is held, the sum holds as well. */
async function recount(db: Database, projectId: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query({
      text: 'insert into project_storage (project_id, used_bytes) values ($1, 0) on conflict do nothing',
      values: [projectId],
    });
    await tx.query({ text: 'select from project_storage where project_id = $1 for update', values: [projectId] });
    await tx.query({
      text: `
        update project_storage set used_bytes = coalesce((select sum(bytes) from (${STORED}) as stored_things where project_id = $1), 0)
        where project_id = $1`,
      values: [projectId],
    });
  });
}
