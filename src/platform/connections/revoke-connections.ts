/** Revokes, where it comes from, what has been erased here; what cannot be revoked within a day is given up. */
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { type TenantDb, tenantDb } from '../store/tenant-db.ts';
import type { ClientAuthMethod } from '../tables.ts';
import { openCredential, openSealed } from './credential.ts';
import { REVOKE } from './erase-connections.ts';
import { revokeToken, type TokenDependencies, TokenFailure } from './protocol/token-endpoint.ts';
import { clientSecretContext } from './secret-context.ts';
import { findWellKnown } from './well-known-providers.ts';

const SWEEP = 'sweep-connection-links';
const ROWS_A_BATCH = 50;
const LINKS_A_BATCH = 5_000;
const TRIED_FOR = '1 day';
/** Together about a day. */
const RETRIES = 12;
const RETRY_SECONDS = 30;
const RETRY_MAX_SECONDS = 7_200;

export interface RevokeDependencies extends TokenDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly logger: Logger;
}

/** Before `jobs.start`. */
export function defineConnectionJobs(jobs: Jobs, deps: RevokeDependencies): void {
  jobs.define<{ readonly projectId: string }>(
    REVOKE,
    ({ data, signal }) => revokeAll(deps, tenantDb(deps.db, data.projectId), signal),
    {
      concurrency: 4,
      concurrencyPerGroup: 1,
      retryLimit: RETRIES,
      retryDelaySeconds: RETRY_SECONDS,
      retryDelayMaxSeconds: RETRY_MAX_SECONDS,
    },
  );
  jobs.define(SWEEP, ({ signal }) => sweep(deps.db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP, '17 * * * *', {});
}

interface Revocation {
  readonly credential_id: string;
  readonly sealed_credential: string;
  readonly revocation_endpoint: string;
  readonly client_provider: string | null;
  readonly client_id: string;
  readonly token_endpoint_auth_method: ClientAuthMethod;
  readonly issuer: string | null;
  readonly secret_id: string | null;
  readonly sealed_client_secret: string | null;
}

/** Rejects where a provider did not answer, so that it is asked again. */
async function revokeAll(deps: RevokeDependencies, db: TenantDb, signal: AbortSignal): Promise<void> {
  let left = 0;
  for (let after = ''; !signal.aborted; ) {
    const { rows } = await db.raw<Revocation>({
      text: `
        select credential_id, sealed_credential, revocation_endpoint, client_provider, client_id, token_endpoint_auth_method,
          issuer, secret_id, sealed_client_secret
        from connection_revocations where project_id = $1 and credential_id > $2
        order by credential_id limit ${ROWS_A_BATCH}`,
      values: [after],
    });
    for (const row of rows) if (!(await revoke(deps, db, row))) left += 1;
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.credential_id;
  }
  if (left > 0) throw new Error(`${left} credentials are still to be revoked`);
}

/** False: to be tried again. Whatever else the provider says, it will not say anything different later. */
async function revoke(deps: RevokeDependencies, db: TenantDb, row: Revocation): Promise<boolean> {
  try {
    await ask(deps, db.projectId, row);
  } catch (error) {
    if (error instanceof TokenFailure && error.kind === 'unavailable') return false;
    deps.logger.warn({ err: error }, 'an erased credential could not be revoked where it comes from');
  }
  await db.raw({
    text: 'delete from connection_revocations where project_id = $1 and credential_id = $2',
    values: [row.credential_id],
  });
  return true;
}

async function ask(deps: RevokeDependencies, projectId: string, row: Revocation): Promise<void> {
  const { secret_id, sealed_client_secret: sealed } = row;
  const { access_token, refresh_token } = openCredential(deps.vault, projectId, row);
  const secret =
    secret_id === null || sealed === null
      ? undefined
      : openSealed(deps.vault, sealed, clientSecretContext(projectId, secret_id));
  const client = {
    id: row.client_id,
    method: row.token_endpoint_auth_method,
    ...(secret === undefined ? {} : { secret }),
  };
  const quirks = (row.client_provider === null ? undefined : findWellKnown(row.client_provider)) ?? {};
  const endpoint = { url: row.revocation_endpoint, issuer: row.issuer ?? undefined, client, quirks };
  // The refresh token ends what came of it (RFC 7009 section 2.1).
  await (refresh_token === undefined
    ? revokeToken(deps, endpoint, access_token ?? '', 'access_token')
    : revokeToken(deps, endpoint, refresh_token, 'refresh_token'));
}

/** Links that nobody used, and what could not be revoked. */
async function sweep(db: Database, signal: AbortSignal): Promise<void> {
  for (let removed = LINKS_A_BATCH; removed === LINKS_A_BATCH && !signal.aborted; ) {
    const { rowCount } = await db.query({
      text: `
        delete from connection_links where ctid in (
          select ctid from connection_links where expires_at <= now() limit ${LINKS_A_BATCH})`,
      values: [],
    });
    removed = rowCount;
  }
  await db.query({
    text: `delete from connection_revocations where created_at < now() - interval '${TRIED_FOR}' - interval '1 hour'`,
    values: [],
  });
}
