import { ApiError } from '../../../kernel/http/errors.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { OrganizationChange } from '../../access/operation.ts';
import { eraseProjectConnections } from '../../connections/index.ts';
import { systemDb } from '../../store/tenant-db.ts';
import type { ProjectPath } from './schema.ts';
import { archiveProject } from './store.ts';

/** Every token of the project stops with the commit: requests ask whether their token's project is live. */
export function deleteProject(deps: { readonly jobs: Pick<Jobs, 'enqueue'> }) {
  return async ({ tx, caller, params }: OrganizationChange<{ params: ProjectPath }>): Promise<void> => {
    const found = await archiveProject(systemDb(tx), caller.organizationId, params.pid);
    if (!found) throw new ApiError('not_found');
    await eraseProjectConnections(deps, tx, params.pid);
  };
}
