import type { ProjectRead } from '../../access/operation.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { renderDeployment } from './render-deployment.ts';
import { requireVisible } from './require-visible.ts';
import type { Deployment, DeploymentPath } from './schema.ts';
import { findDeployment } from './store.ts';

export function getDeployment({ publicUrl }: DeploymentDependencies) {
  return async ({ db, caller, params }: ProjectRead<{ params: DeploymentPath }>): Promise<Deployment> =>
    renderDeployment(publicUrl, requireVisible(caller, await findDeployment(db, params.depid)));
}
