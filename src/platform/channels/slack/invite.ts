/** Whether the app has to be installed for a deployment, and where. */
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { baseUrlOf } from './access.ts';
import { type InstallLink, makeInstallLink, redirectUrlOf } from './install-link.ts';
import { isInstalled } from './installs.ts';
import { readPlace } from './place.ts';

/** Undefined for a person in a workspace that has the app. An agent is for others too. */
export async function inviteToSlack(
  tx: TenantTransaction,
  publicUrl: string,
  { id, address }: { readonly id: string; readonly address: string | null },
  account: Pick<OpenAccount, 'accountId' | 'settings'>,
): Promise<InstallLink | undefined> {
  const { teamId } = readPlace(address ?? '');
  const isThere = settingOf(account.settings, 'team_id') === teamId || (await isInstalled(tx, account, teamId));
  if (address !== null && isThere) return undefined;
  const redirectUrl = redirectUrlOf(publicUrl, tx.projectId);
  return makeInstallLink(tx, id, { clientId: account.accountId, baseUrl: baseUrlOf(account), redirectUrl });
}
