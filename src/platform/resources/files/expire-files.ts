/** Removes the files whose time is over. Nobody has seen them since; here their rows, chunks and bytes go. */
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { removeFileWithContent } from './delete-file.ts';

const EXPIRE_FILES = 'expire-files';
const FILES_A_SWEEP = 1_000;

export interface ExpiryDependencies {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly logger: Logger;
}

/** Defines the job and its times. Call before `jobs.start`. */
export function defineFileExpiry(jobs: Jobs, deps: ExpiryDependencies): void {
  jobs.define(EXPIRE_FILES, ({ signal }) => expireFiles(deps, signal), { concurrency: 1 });
  jobs.schedule(EXPIRE_FILES, '*/5 * * * *', {});
}

export async function expireFiles(deps: ExpiryDependencies, signal: AbortSignal): Promise<void> {
  const { rows } = await deps.db.query<{ project_id: string; id: string }>({
    text: `select project_id, id from files where expires_at <= now() order by expires_at limit ${FILES_A_SWEEP}`,
    values: [],
  });
  for (const { project_id, id } of rows) {
    if (signal.aborted) return;
    await new TenantDatabase(deps.db, project_id).transaction((tx) =>
      removeFileWithContent(deps, tx, { fileId: id, smithId: undefined, log: deps.logger }),
    );
  }
}
