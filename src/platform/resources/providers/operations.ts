import { project } from '../../access/operation.ts';
import { wellKnownNames } from '../../connections/index.ts';
import { deleteProvider } from './delete-provider.ts';
import type { ProviderDependencies } from './dependencies.ts';
import { getProvider, listProviders } from './list-providers.ts';
import { putProvider } from './put-provider.ts';
import { NewProviderPath, OAuthProvider, OAuthProviderIn, OAuthProviderList, ProviderPath } from './schema.ts';

export function providerOperations(deps: ProviderDependencies) {
  return [
    project.read({
      id: 'tenant.providers.list',
      method: 'GET',
      path: '/v1/tenant/providers',
      posture: 'tenant',
      summary: 'List the OAuth clients that are saved',
      description: 'By provider, and never their secrets.',
      reply: OAuthProviderList,
      handler: listProviders,
    }),
    project.read({
      id: 'tenant.providers.get',
      method: 'GET',
      path: '/v1/tenant/providers/{provider}',
      posture: 'tenant',
      summary: 'Get the OAuth client of a provider',
      params: ProviderPath,
      reply: OAuthProvider,
      handler: getProvider,
    }),
    // `turn` rather than `change`: addresses are looked up, and the issuer is asked, before the transaction begins.
    project.turn({
      id: 'tenant.providers.put',
      method: 'PUT',
      path: '/v1/tenant/providers/{provider}',
      posture: 'tenant',
      summary: 'Save the OAuth client of a provider',
      description:
        'By it users connect accounts to smiths. Register it there with the redirect URI `/v1/oauth/callback` of this server. ' +
        `The endpoints of these names are known: ${wellKnownNames.join(', ')}. Any other name takes \`issuer\`, or ` +
        '`authorization_endpoint` and `token_endpoint`. Replaces what is saved as a whole, but for a secret that is left out.',
      params: NewProviderPath,
      body: OAuthProviderIn,
      example: { client_id: 'your-client-id', client_secret: 'your-client-secret', scopes_allowed: ['repo'] },
      reply: OAuthProvider,
      errors: ['invalid_name', 'unknown_provider', 'secret_required', 'invalid_url', 'discovery_failed'],
      handler: putProvider(deps),
    }),
    project.change({
      id: 'tenant.providers.delete',
      method: 'DELETE',
      path: '/v1/tenant/providers/{provider}',
      posture: 'tenant',
      summary: 'Delete the OAuth client of a provider',
      description:
        'Accounts that are connected by it are deleted with it, and revoked at the provider where it lets us.',
      params: ProviderPath,
      handler: deleteProvider(deps),
    }),
  ];
}
