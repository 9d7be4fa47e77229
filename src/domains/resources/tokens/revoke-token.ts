import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { revokeToken as revoke } from '../../access/tokens.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderToken } from './render-token.ts';
import type { Token } from './schema.ts';

/** One that was revoked before stays so. Throws `not_found`. */
export function revokeToken({ clock }: { readonly clock: Clock }) {
  return async ({ caller, params, tx }: WorkspaceChange<{ params: { token_id: string } }>): Promise<Token> => {
    await revoke(tx, caller.workspaceId, params.token_id, clock.now());
    const tokens = workspaceDb(tx, caller.workspaceId).selectFrom('tokens').selectAll();
    const row = await tokens.where('id', '=', params.token_id).executeTakeFirst();
    if (row === undefined) {
      throw new ApiError('not_found', { message: 'The workspace has no such token. GET /tokens lists what it has.' });
    }
    return renderToken(row, caller);
  };
}
