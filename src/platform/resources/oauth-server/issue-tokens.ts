import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import {
  authenticateClient,
  type OAuthDependencies,
  redeemCode,
  refresh,
  type TokenAnswer,
} from '../../authorization-server/index.ts';
import { withoutEmpty } from './read-form.ts';
import type { TokenForm } from './schema.ts';

interface Submitted {
  readonly headers: IncomingHttpHeaders;
  readonly body: TokenForm;
}

export function issueTokens(deps: OAuthDependencies) {
  return async ({ headers, body }: Submitted) =>
    new HttpReply(200, await grant(deps, headers, withoutEmpty(body)), { 'cache-control': 'no-store' });
}

async function grant(
  deps: OAuthDependencies,
  { authorization }: IncomingHttpHeaders,
  form: TokenForm,
): Promise<TokenAnswer> {
  const { grant_type, code, code_verifier: verifier, refresh_token: refreshToken, resource } = form;
  if (grant_type !== 'authorization_code' && grant_type !== 'refresh_token') {
    throw new ApiError('unsupported', {
      param: 'grant_type',
      message: '`grant_type` must be authorization_code or refresh_token.',
    });
  }
  const client = await authenticateClient(deps, { ...form, authorization });
  if (grant_type === 'refresh_token') {
    if (refreshToken === undefined) throw missing('refresh_token');
    return refresh(deps, client, { refreshToken, resource });
  }
  if (code === undefined) throw missing('code');
  if (verifier === undefined) throw missing('code_verifier');
  return redeemCode(deps, client, { code, verifier, redirectUri: form.redirect_uri, resource });
}

function missing(param: string): ApiError {
  return new ApiError('invalid_request', { param, message: `\`${param}\` is required.` });
}
