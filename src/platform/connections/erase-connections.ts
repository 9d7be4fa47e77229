/**
 * Erases credentials in the transaction that ends what they were for. What can be revoked where it comes from is moved, as it
 * is sealed, to where a job finds it.
 */
import type { Executor } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { executorOf } from '../store/executor-of.ts';
import type { TenantTransaction } from '../store/tenant-db.ts';
import { removeLinks } from './links.ts';
import { providerNameOf } from './servers.ts';

export const REVOKE = 'revoke-connections';

/** Which ones: exactly one of them, or of the whole project. */
export interface Erased {
  readonly id?: string;
  readonly smithId?: string;
  /** As connections have it: of an MCP server, `mcp:<name>`. */
  readonly provider?: string;
  /** Those that the client of this saved provider has got, whatever they are for. */
  readonly clientProvider?: string;
}

const MOVE = `
  insert into connection_revocations (
    project_id, credential_id, sealed_credential, revocation_endpoint, client_kind, client_provider, client_id,
    token_endpoint_auth_method, issuer, secret_id, sealed_client_secret)
  select c.project_id, c.credential_id, c.sealed_credential, c.revocation_endpoint, c.client_kind, c.client_provider,
    c.client_id,
    coalesce(p.token_endpoint_auth_method, i.token_endpoint_auth_method,
      case c.client_kind when 'metadata_document' then 'private_key_jwt' else 'none' end), c.issuer,
    coalesce(p.secret_id, i.secret_id), coalesce(p.sealed_client_secret, i.sealed_client_secret)
  from gone c
  left join oauth_providers p on c.client_kind = 'provider' and p.project_id = c.project_id
    and p.provider = c.client_provider and p.client_id = c.client_id
  left join mcp_issuers i on c.client_kind = 'dynamic' and i.project_id = c.project_id and i.server_id = c.server_id
    and i.client_id = c.client_id
  where c.revocation_endpoint is not null and c.client_id is not null
    and (c.client_kind = 'metadata_document' or p.client_id is not null or i.client_id is not null)
  returning credential_id`;

/** How many there were. Before the client's own row goes. */
export async function eraseConnections(
  { jobs }: { readonly jobs: Pick<Jobs, 'enqueue'> },
  tx: TenantTransaction,
  { id, smithId, provider, clientProvider }: Erased,
): Promise<number> {
  return erase(executorOf(tx), jobs, tx.projectId, [
    id ?? null,
    smithId ?? null,
    provider ?? null,
    clientProvider ?? null,
  ]);
}

/** Of an MCP server that is gone, with what was registered for it. */
export async function eraseServerAccounts(
  deps: { readonly jobs: Pick<Jobs, 'enqueue'> },
  tx: TenantTransaction,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  const provider = providerNameOf(name);
  await eraseConnections(deps, tx, { provider });
  await removeLinks(tx, { provider });
  await tx.deleteFrom('mcp_issuers').where('server_id', '=', id).execute();
}

/** Of a whole project, with the clients that it has saved or registered. */
export async function eraseProjectConnections(
  { jobs }: { readonly jobs: Pick<Jobs, 'enqueue'> },
  tx: Executor,
  projectId: string,
): Promise<void> {
  await erase(tx, jobs, projectId, [null, null, null, null]);
  for (const table of ['oauth_providers', 'mcp_issuers', 'connection_links']) {
    await tx.query({ text: `delete from ${table} where project_id = $1`, values: [projectId] });
  }
}

async function erase(
  tx: Executor,
  jobs: Pick<Jobs, 'enqueue'>,
  projectId: string,
  which: readonly (string | null)[],
): Promise<number> {
  const { rows } = await tx.query<{ erased: number; moved: number }>({
    text: `
      with held as (
        select id from connections where project_id = $1
          and ($2::text is null or id = $2) and ($3::text is null or smith_id = $3)
          and ($4::text is null or provider = $4) and ($5::text is null or client_provider = $5)
        order by id for update
      ), gone as (
        delete from connections c using held where c.project_id = $1 and c.id = held.id returning c.*
      ), moved as (${MOVE})
      select (select count(*)::int from gone) as erased, (select count(*)::int from moved) as moved`,
    values: [projectId, ...which],
  });
  const { erased = 0, moved = 0 } = rows[0] ?? {};
  if (moved > 0) await jobs.enqueue(tx, REVOKE, { projectId }, { singletonKey: projectId, group: projectId });
  return erased;
}
