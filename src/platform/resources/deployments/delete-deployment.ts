import type { ProjectChange } from '../../access/operation.ts';
import { openNumberOf, readNumber, removeSlackAppLater, settleNumberLater } from '../../channels/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { requireVisible } from './require-visible.ts';
import type { DeploymentPath } from './schema.ts';
import { type DeploymentRow, holdDeployment, ignoreWaiting, removeDeployment } from './store.ts';

/** What was said there stays with the smiths; runs that have begun go on, and are not answered there. Its address is free. */
export function deleteDeployment(deps: DeploymentDependencies) {
  return async ({ tx, caller, params }: ProjectChange<{ params: DeploymentPath }>): Promise<void> => {
    const row = requireVisible(caller, await holdDeployment(tx, params.depid));
    await disconnectNumber(deps, tx, row);
    if (row.kind === 'slack') await removeSlackAppLater(deps.jobs, tx, row.id);
    await ignoreWaiting(tx, row.id);
    await removeDeployment(tx, row.id);
  };
}

/** With the token that the number has now: the deployment's own may be an old one. */
async function disconnectNumber(
  deps: Pick<DeploymentDependencies, 'jobs' | 'vault'>,
  tx: TenantTransaction,
  { id, kind, provider, provider_metadata }: DeploymentRow,
): Promise<void> {
  if (kind !== 'sms' && kind !== 'voice') return;
  const account = await openNumberOf(tx, deps.vault, kind, id);
  if (account === undefined) return;
  await settleNumberLater(deps, tx, kind, readNumber({ provider, provider_metadata, secrets: { ...account.secrets } }));
}
