/** What a credential that a caller stores must be, and whose it is. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import {
  type Credential,
  type Expiry,
  type FoundServer,
  findProvider,
  findServerByName,
  findWellKnown,
  type Origin,
  type SavedProvider,
  serverNameOf,
} from '../../connections/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { ConnectionIn } from './schema.ts';

export interface CheckedCredential {
  readonly credential: Credential;
  readonly expiry: Expiry;
  readonly origin: Origin;
}

type Given = ConnectionIn['credential'];

/**
 * Throws `unknown_provider`, `unsupported_credential`, `empty_credentials`, `empty_token`, `auth_not_configured`, `invalid_url` and
 * `invalid_request`.
 */
export async function checkCredential(db: TenantDb, provider: string, given: Given): Promise<CheckedCredential> {
  const target = await findTarget(db, provider);
  const credential = readCredential(given);
  checkTokenUri(target.saved, given.token_uri);
  const isRenewable = credential.refresh_token !== undefined;
  if (isRenewable && target.saved === undefined) throw notRenewable(provider);
  return {
    credential,
    expiry: expiryOf(given, credential),
    origin: originOf(target, isRenewable ? target.saved : undefined),
  };
}

interface Target {
  readonly server: FoundServer | undefined;
  /** The client that would refresh it. */
  readonly saved: SavedProvider | undefined;
}

async function findTarget(db: TenantDb, provider: string): Promise<Target> {
  const serverName = serverNameOf(provider);
  if (serverName === undefined) {
    const saved = await findProvider(db, provider);
    if (saved === undefined && findWellKnown(provider) === undefined) throw unknownProvider();
    return { server: undefined, saved };
  }
  const server = await findServerByName(db, serverName);
  if (server === undefined) throw unknownProvider();
  const { auth_provider: name } = server;
  return { server, saved: name === null ? undefined : await findProvider(db, name) };
}

function unknownProvider(): ApiError {
  const message =
    'No OAuth provider is saved under this name, and no MCP server is registered with it. Save one with `PUT /v1/tenant/providers/{provider}`.';
  return new ApiError('unknown_provider', { param: 'provider', message });
}

const KINDS = ['oauth2', 'bearer'];

function readCredential({ kind, access_token, refresh_token }: Given): Credential {
  if (!KINDS.includes(kind)) throw new ApiError('unsupported_credential', { param: 'credential.kind' });
  if (kind === 'bearer' && refresh_token != null) {
    const message = 'A `bearer` token is not refreshed. Leave `refresh_token` out, or send the kind `oauth2`.';
    throw new ApiError('unsupported_credential', { param: 'credential.refresh_token', message });
  }
  if (access_token == null && refresh_token == null) {
    const param = kind === 'bearer' ? 'credential.access_token' : 'credential';
    throw new ApiError('empty_credentials', { param });
  }
  return {
    ...(access_token == null ? {} : { access_token: readToken(access_token, 'access_token') }),
    ...(refresh_token == null ? {} : { refresh_token: readToken(refresh_token, 'refresh_token') }),
  };
}

function readToken(given: string, member: string): string {
  // Pasted tokens tend to bring a line break along.
  const token = given.trim();
  if (token === '') throw new ApiError('empty_token', { param: `credential.${member}` });
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const message = `\`${member}\` holds characters that no token has. Copy it again; it is plain letters, digits and signs.`;
  throw new ApiError('invalid_request', { param: `credential.${member}`, message });
}

/** Otherwise the tenant's client secret would go where an end user says. */
function checkTokenUri(saved: SavedProvider | undefined, given: string | null | undefined): void {
  if (given == null || given === saved?.token_endpoint) return;
  const message =
    saved === undefined
      ? 'No OAuth client is saved that could take anything there. Leave `token_uri` out.'
      : `Refresh tokens of this provider are taken to ${saved.token_endpoint} alone. Send that, or leave \`token_uri\` out.`;
  throw new ApiError('invalid_url', { param: 'credential.token_uri', message });
}

function notRenewable(provider: string): ApiError {
  const message = `A refresh token takes the OAuth client that got it, and none is saved for ${provider}. Save it with \`PUT /v1/tenant/providers/{provider}\` (an MCP server names it in \`auth.provider\`), or store the access token alone.`;
  return new ApiError('auth_not_configured', { param: 'credential.refresh_token', message });
}

/** A refresh token alone is one whose access token is over. */
function expiryOf({ expires_at }: Given, { access_token }: Credential): Expiry {
  if (access_token === undefined) return { inSeconds: 0 };
  return expires_at == null ? null : { at: readTimestamp(expires_at) };
}

function originOf({ server }: Target, saved: SavedProvider | undefined): Origin {
  return {
    server_id: server?.id ?? null,
    server_url: server?.url ?? null,
    resource: null,
    issuer: saved?.issuer ?? null,
    token_endpoint: saved?.token_endpoint ?? null,
    revocation_endpoint: saved?.revocation_endpoint ?? null,
    client_kind: saved === undefined ? null : 'provider',
    client_provider: saved?.provider ?? null,
    client_id: saved?.client_id ?? null,
  };
}
