import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { TokenIssuer } from '../../access/issue-token.ts';
import { project } from '../../access/operation.ts';
import { createToken } from './create-token.ts';
import { listTokens } from './list-tokens.ts';
import { revokeToken } from './revoke-token.ts';
import { Token, TokenCreated, TokenIn, TokenPath } from './schema.ts';

export function tokenOperations(deps: { issuer: Pick<TokenIssuer, 'issueProjectToken' | 'issueSmithToken'> }) {
  return [
    project.change({
      id: 'tenant.tokens.create',
      method: 'POST',
      path: '/v1/tenant/tokens',
      posture: 'admin',
      summary: 'Mint a token',
      description: 'The token’s text is in this answer and nowhere else.',
      status: 201,
      body: TokenIn,
      example: { scope: 'smith', smith_id: 'smt_01J8Z3M6QK4T9W2X5Y7B8C9D0E', permissions: ['runs:read', 'runs:write'] },
      reply: TokenCreated,
      errors: [
        'invalid_token_scope',
        'permissions_required',
        'smith_required',
        'invalid_scope',
        'not_found',
        'invalid_name',
        'minting_unavailable',
      ],
      handler: createToken(deps),
    }),
    project.read({
      id: 'tenant.tokens.list',
      method: 'GET',
      path: '/v1/tenant/tokens',
      posture: 'admin',
      summary: 'List minted tokens, newest first',
      description: 'Expired and revoked ones too. Never their texts.',
      query: Type.Object(pageQuery),
      reply: pageOf(Token),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listTokens,
    }),
    project.change({
      id: 'tenant.tokens.revoke',
      method: 'DELETE',
      path: '/v1/tenant/tokens/{tid}',
      posture: 'admin',
      summary: 'Revoke a token',
      description: 'It stops working at once, on every replica. Revoking it again changes nothing.',
      params: TokenPath,
      handler: revokeToken,
    }),
  ];
}
