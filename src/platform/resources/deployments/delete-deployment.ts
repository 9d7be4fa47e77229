import type { ProjectChange } from '../../access/operation.ts';
import { requireVisible } from './require-visible.ts';
import type { DeploymentPath } from './schema.ts';
import { holdDeployment, ignoreWaiting, removeDeployment } from './store.ts';

/** What was said there stays with the smiths; runs that have begun go on, and are not answered there. Its address is free. */
export async function deleteDeployment({
  tx,
  caller,
  params,
}: ProjectChange<{ params: DeploymentPath }>): Promise<void> {
  const { id } = requireVisible(caller, await holdDeployment(tx, params.depid));
  await ignoreWaiting(tx, id);
  await removeDeployment(tx, id);
}
