/** What is changed of a deployment with a Slack app of the smith's own. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { findOwnSlackApp, readSlackAppName, readSlackOwnerEmail, renameSlackApp } from '../../channels/index.ts';
import { type TenantTransaction, tenantDb } from '../../store/tenant-db.ts';
import type { SlackAppDependencies } from './connect-slack-app.ts';
import type { DeploymentPatch, DeploymentPath } from './schema.ts';
import { type DeploymentRow, findDeployment, replaceMetadata } from './store.ts';

const REFUSAL = { code: 'invalid_request', at: '' } as const;

interface Request {
  readonly caller: ProjectCaller;
  readonly params: DeploymentPath;
  readonly body: DeploymentPatch;
}

/** Renames the app at Slack, outside of any transaction. Nothing for what has no such app, or is not the caller's. */
export function renameAtSlack(deps: SlackAppDependencies) {
  return async ({ caller, params, body }: Request): Promise<void> => {
    const { display_name: name, owner_email: owner } = body;
    if (name == null) return;
    const db = tenantDb(deps.db, caller.projectId);
    const row = await findDeployment(db, params.depid);
    if (row?.kind !== 'slack' || (caller.kind === 'smith' && row.smith_id !== caller.smithId)) return;
    if ((await findOwnSlackApp(db, row.id)) === undefined) return;
    if (owner != null) readOwner(row, owner);
    await renameSlackApp(deps, caller.projectId, row.id, {
      name: readSlackAppName(name, REFUSAL),
      ownerEmail: typeof row.provider_metadata.owner_email === 'string' ? row.provider_metadata.owner_email : undefined,
    });
  };
}

/** Throws `rename_unsupported`, `nothing_to_update` and `invalid_request`. */
export async function updateSlackApp(
  tx: TenantTransaction,
  row: DeploymentRow,
  { display_name: name, owner_email: owner }: DeploymentPatch,
): Promise<DeploymentRow> {
  if ((await findOwnSlackApp(tx, row.id)) === undefined) {
    if (owner != null) throw new ApiError('nothing_to_update', { param: 'owner_email' });
    if (name != null) throw new ApiError('rename_unsupported', { param: 'display_name' });
    return row;
  }
  const given = {
    ...(name != null && { display_name: readSlackAppName(name, REFUSAL) }),
    ...(owner != null && { owner_email: readOwner(row, owner) }),
  };
  return replaceMetadata(tx, row.id, { ...row.provider_metadata, ...given });
}

/** Whoever is bound stays so, and an app for everybody has not asked to read addresses. */
function readOwner({ status, provider_metadata: { owner_email } }: DeploymentRow, owner: string): string {
  if (status === 'pending' && owner_email !== undefined) return readSlackOwnerEmail(owner, REFUSAL);
  const message =
    'The owner of a Slack app is changed until the app is installed, where it was made with one. Make another deployment.';
  throw new ApiError('nothing_to_update', { param: 'owner_email', message });
}
