/** Which account an MCP server wants, and by which client it is connected. */
import type { OAuthClientMetadata } from '@modelcontextprotocol/client';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { ClientAuthMethod, McpClientMode } from '../tables.ts';
import { findRegisteredId, keepClient, noteIssuer } from './issuer-rows.ts';
import type { SignInPlan } from './links.ts';
import { DiscoveryFailure, type Issuer } from './protocol/discover-issuer.ts';
import {
  type Challenge,
  type DiscoverDependencies,
  discoverServer,
  type ServerSignIn,
} from './protocol/discover-server.ts';
import { findProvider, planForProvider } from './provider-rows.ts';

export interface PlanDependencies extends DiscoverDependencies {
  readonly vault: Pick<Vault, 'seal'>;
  readonly callbackUrl: string;
  /** As of ClientDependencies. */
  readonly documentUrl: string | undefined;
}

export interface SignInServer {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly auth_kind: string;
  readonly auth_provider: string | null;
  readonly auth_client_mode: McpClientMode;
}

/**
 * Null: nothing needs connecting. Asks the server and its issuer: call it outside of any transaction. Throws
 * `auth_not_configured`, `client_unavailable` and `discovery_failed`.
 */
export async function planForServer(
  deps: PlanDependencies,
  db: TenantDb,
  server: SignInServer,
  challenge?: Challenge,
): Promise<SignInPlan | null> {
  if (server.auth_kind !== 'oauth') return null;
  const { auth_provider: name, auth_client_mode: mode } = server;
  if (mode === 'registered' || (mode === 'auto' && name !== null)) {
    const saved = name === null ? undefined : await findProvider(db, name);
    const scopes = challenge?.scope?.split(' ').filter((scope) => scope !== '');
    if (saved !== undefined) return planForProvider(saved, { url: server.url, scopes });
    if (mode === 'registered') throw new ApiError('auth_not_configured', { param: 'provider' });
  }
  const found = await discover(deps, server, challenge);
  if (found === null) return null;
  await noteIssuer(db, server.id, found.issuer.issuer);
  return planFor(deps, db, server, found);
}

async function discover(
  deps: PlanDependencies,
  server: SignInServer,
  challenge: Challenge | undefined,
): Promise<ServerSignIn | null> {
  try {
    return await discoverServer(deps, server.url, challenge);
  } catch (cause) {
    if (!(cause instanceof DiscoveryFailure)) throw cause;
    const message = `Where accounts for ${server.name} are connected could not be found out: ${cause.message}.`;
    throw new ApiError('discovery_failed', { message, cause });
  }
}

async function planFor(
  deps: PlanDependencies,
  db: TenantDb,
  server: SignInServer,
  { issuer, resource, scopes: asked = [] }: ServerSignIn,
): Promise<SignInPlan> {
  // Without it many issuers give no refresh token (SEP-2207).
  const isOffline = issuer.scopes?.includes('offline_access') === true && asked.length > 0;
  const scopes = [...new Set([...asked, ...(isOffline ? ['offline_access'] : [])])];
  const client = await chooseClient(deps, db, server, issuer, scopes);
  return {
    authorizationEndpoint: issuer.authorizationEndpoint,
    // OpenID Connect Core section 11: offline access is granted by consent alone.
    params: scopes.includes('offline_access') ? { prompt: 'consent' } : {},
    scopeSeparator: ' ',
    target: {
      ...client,
      issuer: issuer.issuer,
      names_itself: issuer.namesItself,
      token_endpoint: issuer.tokenEndpoint,
      ...(issuer.revocationEndpoint === undefined ? {} : { revocation_endpoint: issuer.revocationEndpoint }),
      ...(resource === undefined ? {} : { resource }),
      server_url: server.url,
      scopes,
    },
  };
}

async function chooseClient(
  deps: PlanDependencies,
  db: TenantDb,
  { id, name, auth_client_mode: mode }: SignInServer,
  issuer: Issuer,
  scopes: readonly string[],
): Promise<{ client_kind: 'dynamic' | 'metadata_document'; client_id: string }> {
  const { documentUrl } = deps;
  const canProve = issuer.authMethods === undefined || issuer.authMethods.includes('private_key_jwt');
  if (mode !== 'dynamic' && documentUrl !== undefined && issuer.takesDocuments && canProve) {
    return { client_kind: 'metadata_document', client_id: documentUrl };
  }
  if (mode === 'metadata_document') {
    const why =
      documentUrl === undefined
        ? 'this server has no https address at which its document could be read'
        : `the issuer of ${name} takes no metadata documents`;
    throw new ApiError('client_unavailable', { message: `No OAuth client can be had: ${why}.` });
  }
  if (issuer.registrationEndpoint === undefined) {
    const message = `The issuer of ${name} registers no clients by itself. Register one there, save it with \`PUT /v1/tenant/providers/{provider}\`, and name it in the server’s \`auth.provider\`.`;
    throw new ApiError('client_unavailable', { message });
  }
  const place = { issuer: issuer.issuer, redirectUri: deps.callbackUrl };
  const present = await findRegisteredId(db, id, place);
  if (present !== undefined) return { client_kind: 'dynamic', client_id: present };
  await register(deps, db, id, issuer, scopes);
  const client_id = await findRegisteredId(db, id, place);
  if (client_id === undefined) throw new ApiError('client_unavailable');
  return { client_kind: 'dynamic', client_id };
}

const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const;

async function register(
  deps: PlanDependencies,
  db: TenantDb,
  serverId: string,
  issuer: Issuer,
  scopes: readonly string[],
): Promise<void> {
  const offered = issuer.authMethods ?? ['client_secret_basic'];
  const wanted: ClientAuthMethod = SECRET_METHODS.find((each) => offered.includes(each)) ?? 'none';
  const clientMetadata: OAuthClientMetadata = {
    client_name: 'Ironcraft',
    redirect_uris: [deps.callbackUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: wanted,
    application_type: deps.callbackUrl.startsWith('https:') ? 'web' : 'native',
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  };
  const sdk = await import('@modelcontextprotocol/client');
  const registered = await sdk
    .registerClient(issuer.issuer, {
      metadata: {
        issuer: issuer.issuer,
        authorization_endpoint: issuer.authorizationEndpoint,
        token_endpoint: issuer.tokenEndpoint,
        registration_endpoint: issuer.registrationEndpoint,
        response_types_supported: ['code'],
      },
      clientMetadata,
      fetchFn: deps.fetch,
    })
    .catch((cause: unknown) => {
      throw new ApiError('client_unavailable', {
        message: 'The issuer did not register a client. Register one there by hand, and save it as a provider.',
        cause,
      });
    });
  const { client_id, client_secret, client_secret_expires_at: expires } = registered;
  await keepClient(deps.vault, db, serverId, issuer.issuer, {
    client_id,
    client_secret,
    method: methodOf(registered, wanted),
    secretExpiresAt: expires === undefined || expires === 0 ? null : new Date(expires * 1_000),
    redirectUri: deps.callbackUrl,
  });
}

/** The issuer may have chosen another one than was asked for. */
function methodOf(
  given: { readonly token_endpoint_auth_method?: string | undefined; readonly client_secret?: string | undefined },
  wanted: ClientAuthMethod,
): ClientAuthMethod {
  const { token_endpoint_auth_method: said, client_secret: secret } = given;
  if (secret === undefined) return 'none';
  return SECRET_METHODS.find((each) => each === said) ?? (wanted === 'none' ? 'client_secret_basic' : wanted);
}
