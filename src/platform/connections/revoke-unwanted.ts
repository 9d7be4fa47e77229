import type { Logger } from '../../kernel/log/log.ts';
import type { Credential } from './credential.ts';
import { revokeToken, type TokenDependencies, type TokenEndpoint } from './protocol/token-endpoint.ts';

/** Of a credential that came when nobody wanted it any more, and that was never stored. As far as the provider lets us. */
export async function revokeUnwanted(
  deps: TokenDependencies & { readonly logger: Logger },
  endpoint: TokenEndpoint,
  revocationEndpoint: string | null | undefined,
  { access_token, refresh_token }: Credential,
): Promise<void> {
  if (revocationEndpoint == null) return;
  const hint = refresh_token === undefined ? 'access_token' : 'refresh_token';
  const token = refresh_token ?? access_token ?? '';
  await revokeToken(deps, { ...endpoint, url: revocationEndpoint }, token, hint).catch((error: unknown) => {
    deps.logger.warn({ err: error }, 'a credential that nobody needs could not be revoked');
  });
}
