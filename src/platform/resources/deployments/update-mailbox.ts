import { ApiError } from '../../../kernel/http/errors.ts';
import { readMailboxSettings } from '../../channels/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { DeploymentPatch } from './schema.ts';
import { type DeploymentRow, replaceMetadata } from './store.ts';

/** What people see as its sender, and whom alone a smith's obeys. Throws `nothing_to_update` and `invalid_request`. */
export async function updateMailbox(
  tx: TenantTransaction,
  row: DeploymentRow,
  { display_name, owner_email }: DeploymentPatch,
): Promise<DeploymentRow> {
  if (owner_email != null && row.smith_id === null) throw new ApiError('nothing_to_update', { param: 'owner_email' });
  const given = { ...(display_name != null && { display_name }), ...(owner_email != null && { owner_email }) };
  const settings = readMailboxSettings(given, { at: '', code: 'invalid_request', hasOwner: true });
  return replaceMetadata(tx, row.id, { ...row.provider_metadata, ...settings });
}
