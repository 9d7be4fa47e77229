/**
 * What the token endpoint gives for a code and for a refresh token. A connector's token is one row of `tokens` from its consent
 * to its end: a refresh makes a further text of it, so that whoever revokes the row ends all texts and the whole family.
 */
import { createHash } from 'node:crypto';
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mcpAddress } from '../access/mcp-address.ts';
import { revokeToken } from '../access/revoke-token.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import { connectApp } from './app-store.ts';
import type { OAuthClient } from './client.ts';
import { hashCredential, mintCredential } from './credentials.ts';
import type { OAuthDependencies } from './dependencies.ts';
import { signIdToken } from './id-token.ts';
import { findFamily, insertRefreshToken, spendRefreshToken } from './refresh-store.ts';
import { findTokenOfCode, noteToken, type Redeemable, spendCode } from './request-store.ts';
import { isPermission } from './requested-scopes.ts';

export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Absent, as `refresh_token`: what an app gets stays until it is disconnected. */
  readonly expires_in?: number;
  readonly scope: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
}

export interface CodeGrant {
  readonly code: string;
  readonly verifier: string;
  readonly redirectUri: string | undefined;
  readonly resource: string | undefined;
}

/** 43 to 128 unreserved characters (RFC 7636, section 4.1). */
const VERIFIER = /^[\w.~-]{43,128}$/;
const TTL_SECONDS = 3_600;

/** Throws `invalid_code` for a code that is not, or no longer, good, and `forbidden_target` for another `resource`. */
export async function redeemCode(deps: OAuthDependencies, client: OAuthClient, grant: CodeGrant): Promise<TokenAnswer> {
  if (!VERIFIER.test(grant.verifier)) throw noGrant('`code_verifier` is missing or malformed.');
  const codeHash = hashCredential(grant.code);
  const codeChallenge = createHash('sha256').update(grant.verifier).digest('base64url');
  const answer = await deps.db.transaction(async (tx) => {
    const presented = { codeHash, codeChallenge, clientId: client.id, redirectUri: grant.redirectUri };
    const consented = await spendCode(tx, presented);
    if (consented === undefined) return undefined;
    return consented.deployment_id === null
      ? grantToApp(deps, tx, consented)
      : grantToConnector(deps, tx, { ...consented, deployment_id: consented.deployment_id }, grant.resource);
  });
  if (answer !== undefined) return answer;
  await endTokenOfCode(deps, codeHash, client.id);
  throw noGrant(
    'The code is not known, spent or older than 60 seconds, or was issued to another client, redirect or verifier.',
  );
}

async function grantToConnector(
  deps: OAuthDependencies,
  tx: Transaction,
  consented: Redeemable & { readonly deployment_id: string },
  resource: string | undefined,
): Promise<TokenAnswer> {
  const { client_id: clientId, deployment_id: deploymentId } = consented;
  const audience = mcpAddress(deps.publicUrl, deploymentId);
  checkResource(resource, audience);
  const tenant = new TenantTransaction(tx, consented.project_id);
  const smithId = consented.smith_id ?? '';
  await requireStanding(tenant, { smithId, deploymentId, consentedBy: consented.actor.token_id });
  const issued = await deps.issuer.issueSmithToken(tenant, {
    smithId,
    permissions: consented.scopes,
    ttlSeconds: TTL_SECONDS,
    name: consented.client_name,
    actor: consented.actor,
    connector: { clientId, deploymentId, audience },
  });
  await noteToken(tx, consented.id, issued.id);
  const next = mintCredential('refreshToken');
  await insertRefreshToken(tenant, { hash: next.hash, tokenId: issued.id });
  return answerWith(issued, next.text);
}

/** A token of the project, which stays until the app is disconnected, and who let the app in. */
async function grantToApp(deps: OAuthDependencies, tx: Transaction, consented: Redeemable): Promise<TokenAnswer> {
  const { project_id, client_id, client_name, scopes, claims, nonce } = consented;
  const tenant = new TenantTransaction(tx, project_id);
  const { rows } = await tenant.raw({ text: 'select from projects where id = $1 and archived_at is null' });
  if (rows.length === 0) throw noGrant('The project has ended since.');
  const permissions = scopes.filter(isPermission);
  const appId = await connectApp(tx, { project_id, client_id, client_name, scopes: permissions });
  const issued = await deps.issuer.issueProjectToken(tenant, {
    scopes: permissions,
    name: client_name,
    actor: consented.actor,
    app: { clientId: client_id, appId },
  });
  await noteToken(tx, consented.id, issued.id);
  const answer = { access_token: issued.token, token_type: 'Bearer', scope: scopes.join(' ') } as const;
  if (claims === null) return answer;
  const statement = { issuer: deps.publicUrl, clientId: client_id, nonce, scopes, claims, now: deps.clock.now() };
  return { ...answer, id_token: await signIdToken(tx, deps.signingKeys, statement) };
}

/** Throws `invalid_code` and `forbidden_target`. */
export async function refresh(
  deps: OAuthDependencies,
  client: OAuthClient,
  grant: { readonly refreshToken: string; readonly resource: string | undefined },
): Promise<TokenAnswer> {
  const hash = hashCredential(grant.refreshToken);
  const answer = await deps.db.transaction(async (tx) => {
    const spent = await spendRefreshToken(tx, hash, client.id);
    if (spent === undefined) return undefined;
    const audience = mcpAddress(deps.publicUrl, spent.deployment_id);
    checkResource(grant.resource, audience);
    const tenant = new TenantTransaction(tx, spent.project_id);
    const renewed = await deps.issuer.renewSmithToken(tenant, { id: spent.token_id, audience });
    if (renewed === undefined) return undefined;
    const next = mintCredential('refreshToken');
    await insertRefreshToken(tenant, { hash: next.hash, tokenId: spent.token_id });
    return answerWith(renewed, next.text);
  });
  if (answer !== undefined) return answer;
  await endFamily(deps, hash, client.id);
  throw noGrant('The refresh token is not known, has ended, or was used before. Ask for consent again.');
}

function answerWith(
  issued: { readonly token: string; readonly scopes: readonly string[] },
  refreshToken: string,
): TokenAnswer {
  return {
    access_token: issued.token,
    token_type: 'Bearer',
    expires_in: TTL_SECONDS,
    scope: issued.scopes.join(' '),
    refresh_token: refreshToken,
  };
}

/** Whoever sends a code twice may have it from somebody else: what it was redeemed for ends (RFC 6749, section 4.1.2). */
async function endTokenOfCode({ db }: OAuthDependencies, codeHash: string, clientId: string): Promise<void> {
  const token = await findTokenOfCode(db, codeHash, clientId);
  if (token !== undefined) await endToken(db, token.project_id, token.token_id);
}

/** As of a refresh token that comes back after its successor must have arrived (RFC 9700, section 4.14.2). */
async function endFamily({ db }: OAuthDependencies, hash: string, clientId: string): Promise<void> {
  const token = await findFamily(db, hash, clientId);
  if (token?.is_spent === true) await endToken(db, token.project_id, token.token_id);
}

async function endToken(db: OAuthDependencies['db'], projectId: string, tokenId: string): Promise<void> {
  await db.transaction((tx) => revokeToken(new TenantTransaction(tx, projectId), { tokenId, actor: null }));
}

/** Throws `invalid_code` where what was consented to has ended meanwhile. */
async function requireStanding(
  tx: TenantTransaction,
  { smithId, deploymentId, consentedBy }: { smithId: string; deploymentId: string; consentedBy: string },
): Promise<void> {
  const { rows } = await tx.raw({
    text: `
      select from projects p
        join smiths s on s.project_id = p.id and s.id = $2 and s.archived_at is null
        join deployments d on d.project_id = p.id and d.id = $3
      where p.id = $1 and p.archived_at is null
        and not exists (select from tokens t where t.project_id = $1 and t.id = $4 and t.revoked_at is not null)`,
    values: [smithId, deploymentId, consentedBy],
  });
  if (rows.length === 0)
    throw noGrant('The MCP server, its smith, its project or the token that consented has ended since.');
}

function checkResource(given: string | undefined, audience: string): void {
  if (given === undefined || given.replace(/\/$/, '') === audience) return;
  throw new ApiError('forbidden_target', {
    param: 'resource',
    message: '`resource` is not the one that was consented to. Leave it out, or send that one.',
  });
}

function noGrant(message: string): ApiError {
  return new ApiError('invalid_code', { message });
}
