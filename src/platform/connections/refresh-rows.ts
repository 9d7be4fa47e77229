/**
 * The statements of a refresh. A row says that one is under way before the refresh token is sent, so that two replicas never
 * send it, and what is known when a replica has died over one (see docs/decisions/0024-connections.md).
 *
 *   resting ─claim─▶ under way ─keep──▶ resting, with another credential
 *                        │  ├─release─▶ resting: nothing is known, again in a while
 *                        │  └─end─────▶ expired
 *                        └─ its time is over ─▶ resting where refresh tokens go on working, else expired
 */
import type { TenantDb } from '../store/tenant-db.ts';
import type { ClientKind, ConnectionStatus } from '../tables.ts';
import type { SealedCredential } from './credential.ts';

/** Longer than a request to a provider can take (bounded-fetch.ts) with what is done before and after it. */
const REFRESH_SECONDS = 30;
/** A provider that did not answer is left alone. */
const AGAIN_SECONDS = 10;

/** A credential as it is refreshed. */
export interface RefreshableRow extends SealedCredential {
  readonly id: string;
  readonly server_id: string | null;
  readonly resource: string | null;
  readonly issuer: string | null;
  readonly token_endpoint: string | null;
  readonly revocation_endpoint: string | null;
  readonly client_kind: ClientKind | null;
  readonly client_provider: string | null;
  readonly client_id: string | null;
}

const COLUMNS = `
  id, server_id, credential_id, sealed_credential, has_refresh_token, resource, issuer, token_endpoint, revocation_endpoint,
  client_kind, client_provider, client_id`;

export interface Refreshing {
  readonly id: string;
  readonly credentialId: string;
  /** Of this attempt. */
  readonly refreshId: string;
}

/** Undefined: it is under way, over, or was tried a moment ago. */
export async function claimRefresh(db: TenantDb, refreshing: Refreshing): Promise<RefreshableRow | undefined> {
  const { rows } = await db.raw<RefreshableRow>({
    text: `
      update connections set refresh_id = $4, refresh_until = now() + interval '${REFRESH_SECONDS} seconds'
      where project_id = $1 and id = $2 and credential_id = $3 and status = 'active' and has_refresh_token
        and refresh_until is null and (refresh_again_at is null or refresh_again_at <= now())
      returning ${COLUMNS}`,
    values: valuesOf(refreshing),
  });
  return rows[0];
}

/** `isOver`: whoever refreshes it had all the time there is, and has most likely died. */
export interface RefreshState {
  readonly status: ConnectionStatus;
  readonly credential_id: string;
  readonly is_under_way: boolean;
  readonly is_over: boolean;
}

export async function findRefreshState(db: TenantDb, id: string): Promise<RefreshState | undefined> {
  const { rows } = await db.raw<RefreshState>({
    text: `
      select status, credential_id, coalesce(refresh_until > now(), false) as is_under_way,
        coalesce(refresh_until <= now(), false) as is_over
      from connections where project_id = $1 and id = $2`,
    values: [id],
  });
  return rows[0];
}

/**
 * Of one whose time is over: whether the refresh token was spent is not known. Where it goes on working it is tried again;
 * where it works once, or may, a second use would look like a theft: the account has to be connected again.
 */
export async function settleLapsed(db: TenantDb, id: string, credentialId: string): Promise<void> {
  await db.raw({
    text: `
      update connections set
        status = case when works_once is false then status else 'expired' end,
        refresh_until = null, updated_at = now()
      where project_id = $1 and id = $2 and credential_id = $3 and refresh_until <= now()`,
    values: [id, credentialId],
  });
}

export interface Renewed extends SealedCredential {
  readonly expiresInSeconds: number | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly worksOnce: boolean;
}

/**
 * False: the connection has another credential since, or none. One that was given up as lapsed meanwhile lives again, for this
 * is the answer that nobody knew.
 */
export async function keepRenewed(db: TenantDb, refreshing: Refreshing, renewed: Renewed): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      update connections set
        credential_id = $5, sealed_credential = $6, has_refresh_token = $7, credential_at = now(),
        expires_at = now() + make_interval(secs => $8), scopes = coalesce($9, scopes), works_once = $10,
        status = case when status = 'expired' then 'active' else status end,
        refresh_id = null, refresh_until = null, refresh_again_at = null, updated_at = now()
      where project_id = $1 and id = $2 and credential_id = $3 and refresh_id = $4`,
    values: [
      ...valuesOf(refreshing),
      renewed.credential_id,
      renewed.sealed_credential,
      renewed.has_refresh_token,
      renewed.expiresInSeconds ?? null,
      renewed.scopes ?? null,
      renewed.worksOnce,
    ],
  });
  return rowCount > 0;
}

/** Nothing is known of the refresh token: it may be tried again, in a while where the provider was asked. */
export async function releaseRefresh(
  db: TenantDb,
  refreshing: Refreshing,
  { wasAsked }: { readonly wasAsked: boolean },
): Promise<void> {
  await db.raw({
    text: `
      update connections set refresh_until = null,
        refresh_again_at = case when $5 then now() + interval '${AGAIN_SECONDS} seconds' end
      where project_id = $1 and id = $2 and credential_id = $3 and refresh_id = $4`,
    values: [...valuesOf(refreshing), wasAsked],
  });
}

/** The refresh token is worth nothing, unless somebody has put another credential in its place. */
export async function endRefresh(db: TenantDb, refreshing: Refreshing): Promise<void> {
  await db.raw({
    text: `
      update connections set
        status = case when status = 'active' then 'expired' else status end, refresh_until = null, updated_at = now()
      where project_id = $1 and id = $2 and credential_id = $3 and refresh_id = $4`,
    values: valuesOf(refreshing),
  });
}

function valuesOf({ id, credentialId, refreshId }: Refreshing): string[] {
  return [id, credentialId, refreshId];
}
