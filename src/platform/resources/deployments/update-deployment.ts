import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { kinds, readTitle } from '../../channels/index.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { renderDeployment } from './render-deployment.ts';
import { requireVisible } from './require-visible.ts';
import type { Deployment, DeploymentPatch, DeploymentPath } from './schema.ts';
import { holdDeployment, replaceMetadata } from './store.ts';
import { updateMailbox } from './update-mailbox.ts';
import { updateSlackApp } from './update-slack-app.ts';

/** Renames what people see. */
export function updateDeployment({ publicUrl }: DeploymentDependencies) {
  return async ({
    tx,
    caller,
    params,
    body,
  }: ProjectChange<{ params: DeploymentPath; body: DeploymentPatch }>): Promise<Deployment> => {
    const { display_name: name, owner_email: owner } = body;
    const row = requireVisible(caller, await holdDeployment(tx, params.depid));
    if (Object.keys(body).length === 0) throw new ApiError('empty_patch');
    if (row.kind === 'email') return renderDeployment(publicUrl, await updateMailbox(tx, row, body));
    if (row.kind === 'slack') return renderDeployment(publicUrl, await updateSlackApp(tx, row, body));
    // No other kind that can be made obeys one person.
    if (owner != null) throw new ApiError('nothing_to_update', { param: 'owner_email' });
    if (name == null) return renderDeployment(publicUrl, row);
    if (!kinds[row.kind].renames) throw new ApiError('rename_unsupported', { param: 'display_name' });
    const metadata = { ...row.provider_metadata, title: readTitle(name, 'display_name') };
    return renderDeployment(publicUrl, await replaceMetadata(tx, row.id, metadata));
  };
}
