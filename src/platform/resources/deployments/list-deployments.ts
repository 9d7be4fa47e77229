import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { renderDeployment } from './render-deployment.ts';
import type { DeploymentQuery } from './schema.ts';
import { listDeployments as listRows } from './store.ts';

export function listDeployments({ publicUrl }: DeploymentDependencies) {
  return async ({ db, caller, query }: ProjectRead<{ query: DeploymentQuery }>) => {
    const page = readPage(query, [viewOf(caller), 'deployments']);
    const rows = await listRows(db, smithOf(caller), page);
    return pageReply(
      rows,
      page,
      (row) => row.id,
      (row) => renderDeployment(publicUrl, row),
    );
  };
}
