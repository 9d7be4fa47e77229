/**
 * Finds what the queue has lost: files that wait though a place is free, places whose job is lost, stores whose time is
 * over, deleted and expired ones whose content is still there. All of these are rare; what is found is queued again, and
 * queueing twice does no harm.
 */

import type { Database } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { isExpiredStore } from '../../store/expiry.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { dispatchFiles } from './dispatch-files.ts';
import { REMOVE_STORE, storeRemoval } from './remove-store.ts';

export const SWEEP_INGESTION = 'sweep-ingestion';
/** Each five minutes. */
export const SWEEP_CRON = '*/5 * * * *';

/** Longer than a job waits before it runs again, or works without a sign of life. */
const LOST_AFTER_MINUTES = 30;
const PROJECTS_A_SWEEP = 1_000;
const STORES_A_SWEEP = 1_000;

export async function sweepIngestion(db: Database, jobs: Jobs, signal: AbortSignal): Promise<void> {
  await asLook(db).query({
    text: `
      with lost as (
        select project_id, vector_store_id, file_id from vector_store_files
        where status = 'in_progress' and queued_at is not null
          and updated_at < now() - interval '${LOST_AFTER_MINUTES} minutes'
        for update skip locked
      )
      update vector_store_files f set queued_at = null from lost
      where f.project_id = lost.project_id and f.vector_store_id = lost.vector_store_id and f.file_id = lost.file_id`,
    values: [],
  });
  const waiting = await db.query<{ project_id: string }>({
    text: `
      select distinct project_id from vector_store_files
      where status = 'in_progress' and queued_at is null limit ${PROJECTS_A_SWEEP}`,
    values: [],
  });
  for (const { project_id } of waiting.rows) {
    if (signal.aborted) return;
    await new TenantDatabase(db, project_id).transaction((tx) => dispatchFiles(tx, jobs));
  }
  await expireStores(db, jobs);
  const over = await db.query<{ project_id: string; id: string }>({
    text: `
      select project_id, id from vector_stores
      where deleted_at < now() - interval '1 hour'
        or expired_at < now() - interval '1 hour' and (usage_bytes > 0 or files_failed + files_cancelled > 0)
      order by deleted_at, expired_at limit ${STORES_A_SWEEP}`,
    values: [],
  });
  for (const { project_id: projectId, id: vectorStoreId } of over.rows) {
    if (signal.aborted) return;
    await jobs.enqueue(db, REMOVE_STORE, ...storeRemoval({ projectId, vectorStoreId }));
  }
}

/** Ends the stores whose time is over; what they hold goes by a job of each. */
async function expireStores(db: Database, jobs: Jobs): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await asLook(tx).query<{ project_id: string; id: string }>({
      text: `
        update vector_stores v set expired_at = now() from (
          select s.project_id, s.id from vector_stores s
          where s.expires_after_seconds is not null and s.expired_at is null and s.deleted_at is null
            and ${isExpiredStore('s')}
          limit ${STORES_A_SWEEP} for no key update skip locked
        ) over
        where v.project_id = over.project_id and v.id = over.id
        returning v.project_id, v.id`,
      values: [],
    });
    for (const { project_id: projectId, id: vectorStoreId } of rows) {
      await jobs.enqueue(tx, REMOVE_STORE, ...storeRemoval({ projectId, vectorStoreId }));
    }
  });
}
