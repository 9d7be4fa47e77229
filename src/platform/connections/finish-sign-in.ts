/** What a provider sends the browser back with becomes a connection. */
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { holdSmiths } from '../smiths/index.ts';
import { TenantDatabase, type TenantTransaction } from '../store/tenant-db.ts';
import type { SignInTarget } from '../tables.ts';
import { type ClientDependencies, findClient } from './clients.ts';
import { saveConnection } from './connection-rows.ts';
import { type Credential, sealCredential } from './credential.ts';
import { projectOfState, type StoredLink, takeLink } from './links.ts';
import {
  requestTokens,
  type TokenDependencies,
  type TokenEndpoint,
  TokenFailure,
  type Tokens,
} from './protocol/token-endpoint.ts';
import { revokeUnwanted } from './revoke-unwanted.ts';

export interface FinishDependencies extends ClientDependencies, TokenDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly logger: Logger;
  readonly callbackUrl: string;
  readonly connected: (tx: TenantTransaction, smithId: string, provider: string) => Promise<void>;
}

export interface CallbackQuery {
  readonly state?: string;
  readonly code?: string;
  readonly iss?: string;
  readonly error?: string;
}

/** `returnUrl`: where the browser goes on to; null: it stays. */
export type FinishedSignIn = { readonly returnUrl: string | null } & (
  | { readonly connectionId: string }
  | { readonly refusal: ApiError; readonly oauthError?: string }
);

/** What providers say of a user who did not want to (RFC 6749 section 4.1.2.1): passed on as it is. */
const PASSED_ON: ReadonlySet<string> = new Set([
  'access_denied',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
]);

/** Throws `invalid_state` where nobody knows whose it is, and `broker_unavailable`. */
export async function finishSignIn(deps: FinishDependencies, query: CallbackQuery): Promise<FinishedSignIn> {
  const { state = '' } = query;
  const projectId = projectOfState(state);
  if (projectId === undefined) throw new ApiError('invalid_state', { param: 'state' });
  const db = new TenantDatabase(deps.db, projectId);
  const link = await takeLink(deps.vault, db, state);
  if (link === undefined) throw new ApiError('invalid_state', { param: 'state' });
  const { return_url: returnUrl } = link;
  try {
    return { returnUrl, connectionId: await connect(deps, db, link, query) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { error: said } = query;
    const isPassedOn = said !== undefined && PASSED_ON.has(said) && error.code === 'connect_failed';
    return { returnUrl, refusal: error, ...(isPassedOn ? { oauthError: said } : {}) };
  }
}

async function connect(
  deps: FinishDependencies,
  db: TenantDatabase,
  link: StoredLink,
  { code, iss, error }: CallbackQuery,
): Promise<string> {
  checkIssuer(link.target, iss);
  if (error !== undefined) throw new ApiError('connect_failed', { message: DENIED });
  if (code === undefined) throw new ApiError('invalid_state', { param: 'code' });
  const endpoint = await endpointOf(deps, db, link);
  const tokens = await redeem(deps, endpoint, link, code);
  const id = await db.transaction((tx) => keep(deps, tx, link, tokens));
  if (id !== undefined) return id;
  await revokeUnwanted(deps, endpoint, link.target.revocation_endpoint, credentialOf(tokens));
  throw changed();
}

const DENIED =
  'The provider did not let the account be connected, or its user did not want to. Start again with `POST /v1/smiths/{sid}/connections/authorize`.';

/** RFC 9207: an answer of another issuer than the one that was asked. */
function checkIssuer({ issuer, names_itself }: SignInTarget, iss: string | undefined): void {
  const isOther = iss === undefined ? names_itself : issuer !== undefined && iss !== issuer;
  if (isOther) throw new ApiError('invalid_state', { param: 'iss' });
}

async function endpointOf(
  deps: FinishDependencies,
  db: TenantDatabase,
  { target, server_id }: StoredLink,
): Promise<TokenEndpoint> {
  const found = await findClient(deps, db, { ...target, client_provider: target.client_provider ?? null, server_id });
  const isElsewhere = found !== undefined && (found.tokenEndpoint ?? target.token_endpoint) !== target.token_endpoint;
  if (found === undefined || isElsewhere) throw changed();
  return { url: target.token_endpoint, issuer: target.issuer, client: found.client, quirks: found.quirks };
}

/** What the user was asked about is not what it would be used for. */
function changed(): ApiError {
  const message = 'The provider, the server or the smith of this sign-in has changed since it began. Start it again.';
  return new ApiError('invalid_state', { message });
}

async function redeem(
  deps: FinishDependencies,
  endpoint: TokenEndpoint,
  { verifier, target }: StoredLink,
  code: string,
): Promise<Tokens> {
  try {
    return await requestTokens(deps, endpoint, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: deps.callbackUrl,
      code_verifier: verifier,
      ...(target.resource === undefined ? {} : { resource: target.resource }),
    });
  } catch (cause) {
    if (!(cause instanceof TokenFailure)) throw cause;
    deps.logger.info({ err: cause }, 'an account was not connected');
    throw new ApiError('connect_failed', { message: `The account was not connected: ${cause.message}.`, cause });
  }
}

/** Undefined: the smith, or what the account is for, has gone while the provider was asked. */
async function keep(
  deps: FinishDependencies,
  tx: TenantTransaction,
  link: StoredLink,
  tokens: Tokens,
): Promise<string | undefined> {
  if (!(await isStillWanted(tx, link))) return undefined;
  const { target } = link;
  const { expiresInSeconds: inSeconds } = tokens;
  const { row } = await saveConnection(tx, {
    ...sealCredential(deps.vault, tx.projectId, credentialOf(tokens)),
    smith_id: link.smith_id,
    provider: link.provider,
    server_id: link.server_id,
    scopes: [...(tokens.scopes ?? target.scopes)],
    scopes_asked: target.scopes,
    metadata: null,
    expiry: inSeconds === undefined ? null : { inSeconds },
    granted_at: link.created_at,
    issuer: target.issuer ?? null,
    server_url: target.server_url ?? null,
    resource: target.resource ?? null,
    token_endpoint: target.token_endpoint,
    revocation_endpoint: target.revocation_endpoint ?? null,
    client_kind: target.client_kind,
    client_provider: target.client_provider ?? null,
    client_id: target.client_id,
  });
  await deps.connected(tx, link.smith_id, link.provider);
  return row.id;
}

function credentialOf({ accessToken, refreshToken }: Tokens): Credential {
  return { access_token: accessToken, ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }) };
}

/** Holds what it finds. */
async function isStillWanted(tx: TenantTransaction, { smith_id, server_id, target }: StoredLink): Promise<boolean> {
  if ((await holdSmiths(tx, [smith_id])).length === 0) return false;
  const project = { text: 'select from projects where id = $1 and archived_at is null for share', values: [] };
  if ((await tx.raw(project)).rowCount === 0) return false;
  if (server_id !== null) {
    const server = tx
      .selectFrom('mcp_servers')
      .select('id')
      .where('id', '=', server_id)
      .where('url', '=', target.server_url ?? '')
      .where('auth_kind', '=', 'oauth');
    if ((await server.forShare().executeTakeFirst()) === undefined) return false;
  }
  if (target.client_provider === undefined) return true;
  const provider = tx
    .selectFrom('oauth_providers')
    .select('provider')
    .where('provider', '=', target.client_provider)
    .where('client_id', '=', target.client_id)
    .where('token_endpoint', '=', target.token_endpoint);
  return (await provider.forShare().executeTakeFirst()) !== undefined;
}
