import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { issueToken } from '../../access/tokens.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { IssuedToken, TokenCreate } from './schema.ts';

/** Enough for everything that a workspace runs; what is not used is revoked. */
const MOST_LIVE = 100;

/** Throws `bad_request` where the workspace has as many as it may. */
export function createToken({ clock }: { readonly clock: Clock }) {
  return async ({ body, caller, tx }: WorkspaceChange<{ body: TokenCreate }>): Promise<IssuedToken> => {
    const db = workspaceDb(tx, caller.workspaceId);
    const own = await db
      .selectFrom('tokens')
      .select('user_id')
      .where('id', '=', caller.tokenId)
      .executeTakeFirstOrThrow();
    const live = await db.selectFrom('tokens').select('id').where('revoked_at', 'is', null).execute();
    if (live.length >= MOST_LIVE) {
      throw new ApiError('bad_request', {
        message: `The workspace has ${live.length} tokens. Revoke one first: DELETE /tokens/{token_id}.`,
      });
    }
    const asked = { userId: own.user_id, scope: body.scope, name: body.name };
    const issued = await issueToken(tx, caller.workspaceId, asked);
    return { ...issued, created_at: clock.now().toISOString() };
  };
}
