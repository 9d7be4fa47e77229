/** OAuth clients that tenants have saved, as connections use them. */
import type { Selectable } from 'kysely';
import type { TenantDb } from '../store/tenant-db.ts';
import type { TenantTables } from '../tables.ts';
import type { SignInPlan } from './links.ts';
import { findWellKnown } from './well-known-providers.ts';

export type SavedProvider = Omit<
  Selectable<TenantTables['oauth_providers']>,
  'project_id' | 'secret_id' | 'sealed_client_secret' | 'created_at' | 'updated_at'
>;

export async function findProvider(db: TenantDb, provider: string): Promise<SavedProvider | undefined> {
  return db
    .selectFrom('oauth_providers')
    .select(['provider', 'client_id', 'scopes_allowed', 'issuer', 'authorization_endpoint', 'token_endpoint'])
    .select(['revocation_endpoint', 'token_endpoint_auth_method', 'names_itself'])
    .where('provider', '=', provider)
    .executeTakeFirst();
}

/** `server`: the account is for an MCP server, and not for whatever names the provider. */
export function planForProvider(
  saved: SavedProvider,
  server?: { readonly url: string; readonly scopes: readonly string[] | undefined },
): SignInPlan {
  const wellKnown = findWellKnown(saved.provider);
  const scopes = chooseScopes(saved.scopes_allowed, server?.scopes);
  return {
    authorizationEndpoint: saved.authorization_endpoint,
    params: wellKnown?.linkParams ?? {},
    scopeSeparator: wellKnown?.scopeSeparator ?? ' ',
    target: {
      ...(saved.issuer === null ? {} : { issuer: saved.issuer }),
      names_itself: saved.names_itself,
      token_endpoint: saved.token_endpoint,
      ...(saved.revocation_endpoint === null ? {} : { revocation_endpoint: saved.revocation_endpoint }),
      client_kind: 'provider',
      client_provider: saved.provider,
      client_id: saved.client_id,
      // The well-known ones know nothing of resource indicators, and some refuse what they do not know.
      ...(server === undefined || wellKnown !== undefined ? {} : { resource: server.url }),
      ...(server === undefined ? {} : { server_url: server.url }),
      scopes,
    },
  };
}

/** What the server asks for, as far as the tenant allows it; all that is allowed where it asks for nothing. */
function chooseScopes(allowed: readonly string[], asked: readonly string[] | undefined): string[] {
  if (asked === undefined) return [...allowed];
  const both = asked.filter((scope) => allowed.length === 0 || allowed.includes(scope));
  return both.length === 0 ? [...allowed] : both;
}
