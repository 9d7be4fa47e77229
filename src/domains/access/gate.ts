/** Authentication and authorization of every operation: token → scope. */
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Gate } from '../../kernel/http/service.ts';
import type { Caller, TokenScope } from './caller.ts';
import { hashToken, TOKEN_PREFIX } from './tokens.ts';

interface TokenRow {
  workspace_id: string;
  id: string;
  scope: TokenScope;
  revoked_at: Date | null;
}

export function createGate(db: Database): Gate<Caller> {
  return {
    async authenticate(authorization) {
      const token = bearerOf(authorization);
      if (!token.startsWith(TOKEN_PREFIX)) throw new ApiError('invalid_token');
      const { rows } = await db.query<TokenRow>({
        text: 'select workspace_id, id, scope, revoked_at from domains.tokens where hash = $1',
        values: [hashToken(token)],
      });
      const row = rows[0];
      if (row === undefined) throw new ApiError('invalid_token');
      if (row.revoked_at !== null) throw new ApiError('revoked_token');
      return { workspaceId: row.workspace_id, tokenId: row.id, scope: row.scope };
    },
    authorize({ scope }, caller) {
      if (scope === 'write' && caller.scope !== 'write') {
        throw new ApiError('insufficient_scope', { details: { required_scope: 'write', scope: caller.scope } });
      }
    },
    refusalsOf({ posture, scope }) {
      if (posture === 'public') return [];
      const refusals = ['missing_token', 'invalid_token', 'revoked_token'];
      return scope === 'write' ? [...refusals, 'insufficient_scope'] : refusals;
    },
    meterKey: ({ workspaceId }) => workspaceId,
  };
}

function bearerOf(authorization: string | undefined): string {
  if (authorization === undefined) throw new ApiError('missing_token');
  const match = /^Bearer +(\S+)$/i.exec(authorization);
  if (!match?.[1]) throw new ApiError('missing_token');
  return match[1];
}
