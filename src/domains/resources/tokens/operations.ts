import type { Clock } from '../../../kernel/clock/clock.ts';
import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { createToken } from './create-token.ts';
import { listTokens } from './list-tokens.ts';
import { revokeToken } from './revoke-token.ts';
import { IssuedToken, Token, TokenCreate, TokenList, TokenPath } from './schema.ts';

export function tokenOperations(deps: { readonly clock: Clock }) {
  return [
    workspace.read({
      id: 'tokens.list',
      method: 'GET',
      path: `${BASE_PATH}/tokens`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List tokens',
      description: 'Newest first, also those that are revoked. Their texts are kept nowhere.',
      query: ListQuery,
      reply: TokenList,
      handler: listTokens,
    }),
    workspace.change({
      id: 'tokens.create',
      method: 'POST',
      path: `${BASE_PATH}/tokens`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Mint a token',
      description: 'Its text is shown this once. A hundred may be live at a time.',
      status: 201,
      body: TokenCreate,
      example: { scope: 'read', name: 'monitoring' },
      reply: IssuedToken,
      handler: createToken(deps),
    }),
    workspace.change({
      id: 'tokens.revoke',
      method: 'DELETE',
      path: `${BASE_PATH}/tokens/{token_id}`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Revoke a token',
      description:
        'It is refused from the answer on, everywhere. The token of the call itself can be revoked, too; keep another one, for the last one leads nowhere back.',
      params: TokenPath,
      reply: Token,
      handler: revokeToken(deps),
    }),
  ];
}
