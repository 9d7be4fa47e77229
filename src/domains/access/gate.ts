/** Authentication and authorization of every operation: token → scope. */
import { ApiError } from '../../kernel/http/errors.ts';
import type { Gate } from '../../kernel/http/service.ts';
import type { Caller } from './caller.ts';
import type { TokenVerifier } from './verify-token.ts';

export function createGate(verifyToken: TokenVerifier): Gate<Caller> {
  return {
    async authenticate(authorization) {
      return verifyToken(bearerOf(authorization));
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
