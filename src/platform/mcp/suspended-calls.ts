/** Calls that wait for a person and that no replica holds open, as they are kept: sealed, for a session's id is as good as its call. */

import type { Database } from '../../kernel/db/database.ts';
import { asLook } from '../../kernel/db/looks.ts';
import { type Vault, VaultError } from '../../kernel/vault/vault.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { McpEndpoint } from './client/connection.ts';
import type { SuspendedCall } from './client/suspended-call.ts';
import { suspendedCallContext } from './secret-context.ts';

/** Which call. */
export interface SuspendedCallKey {
  readonly projectId: string;
  readonly runId: string;
  readonly callId: string;
}

/** Where a server is called that has no registration; it goes with the call. */
export type UnregisteredEndpoint = Pick<McpEndpoint, 'url' | 'headers'>;

interface Kept extends Pick<SuspendedCall, 'asked' | 'session'> {
  readonly endpoint?: UnregisteredEndpoint;
}

/** Before the question is asked: from then on any replica goes on with the call. A later question of the call replaces it. */
export async function saveSuspendedCall(
  db: TenantDb,
  vault: Pick<Vault, 'seal'>,
  key: SuspendedCallKey & { readonly smithId: string; readonly serverId: string; readonly revision: number },
  { asked, session }: SuspendedCall,
  endpoint: UnregisteredEndpoint | undefined,
): Promise<void> {
  const kept: Kept = {
    ...{ asked, session },
    ...(endpoint === undefined ? {} : { endpoint: { url: endpoint.url, headers: endpoint.headers } }),
  };
  const sealed = vault.seal(JSON.stringify(kept), suspendedCallContext(key));
  await db.raw({
    text: `
      insert into mcp_suspended_calls (project_id, run_id, call_id, smith_id, server_id, revision, sealed_session)
      values ($1, $2, $3, $4, $5, $6, $7)
      on conflict (project_id, run_id, call_id) do update set sealed_session = excluded.sealed_session`,
    values: [key.runId, key.callId, key.smithId, key.serverId, key.revision, sealed],
  });
}

/** Undefined also where what was kept can no longer be opened. */
export async function findSuspendedCall(
  db: TenantDb,
  vault: Pick<Vault, 'open'>,
  key: SuspendedCallKey,
): Promise<SuspendedCall | undefined> {
  const { rows } = await db.raw<{ sealed_session: string }>({
    text: 'select sealed_session from mcp_suspended_calls where project_id = $1 and run_id = $2 and call_id = $3',
    values: [key.runId, key.callId],
  });
  const [row] = rows;
  try {
    return row === undefined ? undefined : openSuspendedCall(vault, key, row.sealed_session);
  } catch (error) {
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}

export function openSuspendedCall(
  vault: Pick<Vault, 'open'>,
  key: SuspendedCallKey,
  sealed: string,
): SuspendedCall & Pick<Kept, 'endpoint'> {
  return { resultType: 'suspended', ...(JSON.parse(vault.open(sealed, suspendedCallContext(key))) as Kept) };
}

/** A call that its run does not wait for any more. */
export interface EndedCall {
  readonly project_id: string;
  readonly run_id: string;
  readonly call_id: string;
  readonly smith_id: string;
  readonly server_id: string;
  readonly revision: number;
  readonly sealed_session: string;
  /** It gave its result. */
  readonly has_result: boolean;
}

/** Within this time a replica has ended what it claimed, or another does. */
const CLAIMED = '1 minute';

/** Of runs that have ended, on whichever replica, or that were gone on with. */
export async function claimEndedCalls(db: Database, limit: number): Promise<EndedCall[]> {
  const { rows } = await asLook(db).query<EndedCall>({
    text: `
      with ended as (
        select c.project_id, c.run_id, c.call_id, coalesce(s.status = 'completed' and s.error is null, false) as has_result
        from mcp_suspended_calls c
        left join runs r on r.project_id = c.project_id and r.id = c.run_id
        left join run_steps s on s.project_id = c.project_id and s.run_id = c.run_id and s.call_id = c.call_id
        where (c.claimed_until is null or c.claimed_until < now())
          and (r.id is null or r.status in ('completed', 'failed', 'cancelled') or s.status = 'completed')
        limit $1
        for update of c skip locked
      )
      update mcp_suspended_calls c set claimed_until = now() + interval '${CLAIMED}'
      from ended
      where c.project_id = ended.project_id and c.run_id = ended.run_id and c.call_id = ended.call_id
      returning c.*, ended.has_result`,
    values: [limit],
  });
  return rows;
}

export async function removeSuspendedCall(db: TenantDb, { runId, callId }: SuspendedCallKey): Promise<void> {
  await db.raw({
    text: 'delete from mcp_suspended_calls where project_id = $1 and run_id = $2 and call_id = $3',
    values: [runId, callId],
  });
}
