import type { Transaction } from '../../kernel/db/database.ts';
import { actorOf, type OrganizationCaller } from '../access/caller.ts';
import { revokeToken } from '../access/revoke-token.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import { disconnectApp } from './app-store.ts';

/** Ends every token that the app holds in the organization, in all its projects. False where the organization has no such app. */
export async function disconnect(tx: Transaction, caller: OrganizationCaller, appId: string): Promise<boolean> {
  const tokens = await disconnectApp(tx, caller.organizationId, appId);
  if (tokens === undefined) return false;
  for (const { project_id, token_id: tokenId } of tokens) {
    await revokeToken(new TenantTransaction(tx, project_id), { tokenId, actor: actorOf(caller) });
  }
  return true;
}
