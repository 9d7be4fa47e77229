import { ApiError } from '../../../kernel/http/errors.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { OrganizationChange } from '../../access/operation.ts';
import { eraseProjectConnections } from '../../connections/index.ts';
import { enqueueRunEnding } from '../../engine/index.ts';
import { systemDb, TenantTransaction } from '../../store/tenant-db.ts';
import type { ProjectPath } from './schema.ts';
import { archiveProject } from './store.ts';

/**
 * Every token of the project stops with the commit: requests ask whether their token's project is live, and so do schedules, channels
 * and pages before they begin a turn. Its webhooks get nothing more; turns that go on are cancelled by a job.
 */
export function deleteProject(deps: { readonly jobs: Pick<Jobs, 'enqueue'> }) {
  return async ({ tx, caller, params }: OrganizationChange<{ params: ProjectPath }>): Promise<void> => {
    const found = await archiveProject(systemDb(tx), caller.organizationId, params.pid);
    if (!found) throw new ApiError('not_found');
    await eraseProjectConnections(deps, tx, params.pid);
    const project = new TenantTransaction(tx, params.pid);
    await project.updateTable('webhooks').set({ active: false }).where('active', '=', true).execute();
    await enqueueRunEnding(deps.jobs, project, null);
  };
}
