import type { ProjectChange } from '../../access/operation.ts';
import { requireVisible } from './require-visible.ts';
import type { DeploymentPath } from './schema.ts';
import { holdDeployment, removeDeployment } from './store.ts';

/** What its visitors said stays with their smiths; runs that have begun go on. */
export async function deleteDeployment({
  tx,
  caller,
  params,
}: ProjectChange<{ params: DeploymentPath }>): Promise<void> {
  const { id } = requireVisible(caller, await holdDeployment(tx, params.depid));
  await removeDeployment(tx, id);
}
