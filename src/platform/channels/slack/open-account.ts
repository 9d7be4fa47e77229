/** The app that a deployment is reached through. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { openProjectAccount } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';

/** The project's. Undefined where there is none. */
export async function openSlackAccount(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'open'> },
  projectId: string,
  _deploymentId: string | undefined,
): Promise<OpenAccount | undefined> {
  return openProjectAccount(tenantDb(db, projectId), vault, 'slack');
}
