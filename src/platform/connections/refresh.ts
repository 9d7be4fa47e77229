/** Refreshes credentials: one attempt at a time of each, over all replicas. */
import { randomUUID } from 'node:crypto';
import { untilAborted } from '../../kernel/cancellation/until-aborted.ts';
import { sleep } from '../../kernel/clock/timers.ts';
import type { Database } from '../../kernel/db/database.ts';
import { isStorageFault } from '../../kernel/http/storage-faults.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { type TenantDb, tenantDb } from '../store/tenant-db.ts';
import { type ClientDependencies, findClient } from './clients.ts';
import { type Credential, openCredential, sealCredential } from './credential.ts';
import {
  requestTokens,
  type TokenDependencies,
  type TokenEndpoint,
  TokenFailure,
  type Tokens,
} from './protocol/token-endpoint.ts';
import {
  claimRefresh,
  endRefresh,
  findRefreshState,
  keepRenewed,
  type RefreshableRow,
  type Refreshing,
  releaseRefresh,
  settleLapsed,
} from './refresh-rows.ts';
import { revokeUnwanted } from './revoke-unwanted.ts';

/** How often it is looked whether another replica is done. */
const LOOK_MS = 100;
/** A new credential is not given up because the store stumbles: there is no second one. */
const KEEP_ATTEMPTS = 20;
const KEEP_AGAIN_MS = 500;

export interface RefreshDependencies extends ClientDependencies, TokenDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly logger: Logger;
}

/** Why no new credential came; undefined: one did, whoever asked for it. */
export type RefreshFailure =
  | { readonly kind: 'ended' | 'refused' | 'unavailable'; readonly message: string }
  | undefined;

export interface Refresher {
  /** In place of this credential. Throws `broker_unavailable`, and the signal's reason, which does not end the attempt. */
  refresh(projectId: string, id: string, credentialId: string, signal: AbortSignal): Promise<RefreshFailure>;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

export function createRefresher(deps: RefreshDependencies): Refresher {
  /** By credential. */
  const underWay = new Map<string, Promise<RefreshFailure>>();
  return {
    refresh(projectId, id, credentialId, signal) {
      const key = `${projectId}/${credentialId}`;
      const present = underWay.get(key);
      if (present !== undefined) return untilAborted(present, signal);
      const attempt = refreshOnce(deps, tenantDb(deps.db, projectId), id, credentialId).finally(() =>
        underWay.delete(key),
      );
      underWay.set(key, attempt);
      // Until it is waited for.
      attempt.catch(() => {});
      return untilAborted(attempt, signal);
    },
    async stop() {
      await Promise.allSettled(underWay.values());
    },
  };
}

const ENDED = { kind: 'ended', message: 'the account has to be connected again' } as const;
const NOT_YET = { kind: 'unavailable', message: 'the provider did not answer a moment ago' } as const;

async function refreshOnce(
  deps: RefreshDependencies,
  db: TenantDb,
  id: string,
  credentialId: string,
): Promise<RefreshFailure> {
  const refreshing = { id, credentialId, refreshId: randomUUID() };
  for (;;) {
    const row = await claimRefresh(db, refreshing);
    if (row !== undefined) return attempt(deps, db, row, refreshing);
    const state = await findRefreshState(db, id);
    if (state === undefined) return ENDED;
    if (state.credential_id !== credentialId) return undefined;
    if (state.status !== 'active') return ENDED;
    if (state.is_over) await settleLapsed(db, id, credentialId);
    else if (state.is_under_way) await sleep(LOOK_MS);
    else return NOT_YET;
  }
}

async function attempt(
  deps: RefreshDependencies,
  db: TenantDb,
  row: RefreshableRow,
  refreshing: Refreshing,
): Promise<RefreshFailure> {
  let renewal: Renewal;
  try {
    renewal = { row, refreshing, ...(await ask(deps, db, row)) };
  } catch (error) {
    if (error instanceof TokenFailure && error.kind === 'ended') await endRefresh(db, refreshing);
    else await releaseRefresh(db, refreshing, { wasAsked: error instanceof TokenFailure });
    if (!(error instanceof TokenFailure)) throw error;
    deps.logger.debug({ err: error, connection: refreshing.id }, 'a connection was not refreshed');
    return { kind: error.kind, message: error.message };
  }
  // Where this fails, the attempt is left to lapse: the refresh token has been spent.
  await keep(deps, db, renewal);
  return undefined;
}

async function ask(
  deps: RefreshDependencies,
  db: TenantDb,
  row: RefreshableRow,
): Promise<Pick<Renewal, 'endpoint' | 'held' | 'tokens'>> {
  const held = openCredential(deps.vault, db.projectId, row);
  const endpoint = await endpointOf(deps, db, row);
  if (endpoint === undefined || held.refresh_token === undefined) {
    throw new TokenFailure('ended', 'the OAuth client that got the refresh token is not saved any more');
  }
  const tokens = await requestTokens(deps, endpoint, {
    grant_type: 'refresh_token',
    refresh_token: held.refresh_token,
    ...(row.resource === null ? {} : { resource: row.resource }),
  });
  return { endpoint, held, tokens };
}

/** Undefined: the client is gone, or is another issuer's today. */
async function endpointOf(
  deps: ClientDependencies,
  db: TenantDb,
  row: RefreshableRow,
): Promise<TokenEndpoint | undefined> {
  const found = await findClient(deps, db, row);
  if (found === undefined || row.token_endpoint === null) return undefined;
  if (found.tokenEndpoint !== null && found.tokenEndpoint !== row.token_endpoint) return undefined;
  return { url: row.token_endpoint, issuer: row.issuer ?? undefined, client: found.client, quirks: found.quirks };
}

interface Renewal {
  readonly row: RefreshableRow;
  readonly refreshing: Refreshing;
  readonly endpoint: TokenEndpoint;
  readonly held: Credential;
  readonly tokens: Tokens;
}

/** Before anybody uses it. */
async function keep(deps: RefreshDependencies, db: TenantDb, renewal: Renewal): Promise<void> {
  const { refreshing, endpoint, held, tokens } = renewal;
  const refresh_token = tokens.refreshToken ?? held.refresh_token;
  const credential: Credential = {
    access_token: tokens.accessToken,
    ...(refresh_token === undefined ? {} : { refresh_token }),
  };
  const isOther = refresh_token !== held.refresh_token;
  const renewed = {
    ...sealCredential(deps.vault, db.projectId, credential),
    expiresInSeconds: tokens.expiresInSeconds,
    scopes: tokens.scopes,
    worksOnce: isOther && endpoint.quirks.refreshTokensStay !== true,
  };
  for (let attempts = 1; ; attempts += 1) {
    try {
      if (await keepRenewed(db, refreshing, renewed)) return;
      // An attempt before may have been kept after all.
      if ((await findRefreshState(db, refreshing.id))?.credential_id === renewed.credential_id) return;
      // The connection was deleted, or connected anew, while its old credential was refreshed.
      return await revokeUnwanted(deps, endpoint, renewal.row.revocation_endpoint, credential);
    } catch (error) {
      if (!isStorageFault(error) || attempts === KEEP_ATTEMPTS) throw error;
      await sleep(KEEP_AGAIN_MS);
    }
  }
}
