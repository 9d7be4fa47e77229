/** RFC 7009: a client gives back what it was given. */
import { ApiError } from '../../kernel/http/errors.ts';
import { revokeToken } from '../access/revoke-token.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import type { OAuthClient } from './client.ts';
import { CREDENTIAL_PREFIXES, hashCredential } from './credentials.ts';
import type { OAuthDependencies } from './dependencies.ts';
import { findFamily } from './refresh-store.ts';

/** Ends the token with its whole family. What is unknown, has ended or is another client's stays as it is: nobody is told which. */
export async function revokeOfClient(deps: OAuthDependencies, client: OAuthClient, token: string): Promise<void> {
  const found = token.startsWith(CREDENTIAL_PREFIXES.refreshToken)
    ? await findFamily(deps.db, hashCredential(token), client.id)
    : await findAccessToken(deps, client, token);
  if (found === undefined) return;
  await deps.db.transaction((tx) =>
    revokeToken(new TenantTransaction(tx, found.project_id), { tokenId: found.token_id, actor: null }),
  );
}

async function findAccessToken({ db, verifier }: OAuthDependencies, client: OAuthClient, token: string) {
  const caller = await verifier.verify(token).catch((error: unknown) => {
    if (error instanceof ApiError) return undefined;
    throw error;
  });
  if (caller === undefined || caller.kind === 'organization') return undefined;
  const { rows } = await db.query<{ project_id: string; token_id: string }>({
    text: 'select project_id, id as token_id from tokens where project_id = $1 and id = $2 and client_id = $3',
    values: [caller.projectId, caller.tokenId, client.id],
  });
  return rows[0];
}
