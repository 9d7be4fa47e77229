/**
 * Leases. A replica (server process) that executes turns sends one heartbeat a second for all of them. A turn whose
 * replica has sent none for LEASE_SECONDS, or has released it, is taken over by the replica that asks first.
 */
import type { Database } from '../../../kernel/db/database.ts';
import type { RunRow } from './run-row.ts';

export const HEARTBEAT_MS = 1_000;
const LEASE_SECONDS = 5;
/** A turn of this replica that it does not execute is one that has just started, unless it is older than this. */
const ABANDONED_SECONDS = 10;
/** Turns taken over at once, so that a fleet shares the work of a dead member. */
export const ADOPT_AT_ONCE = 16;
/** Rows of replicas that have been silent for so long are removed. */
const REMOVE_AFTER = '1 hour';

export async function registerReplica(db: Database, replicaId: string): Promise<void> {
  // One process at a time owns an embedded store: the others are dead, and their leases need not run out.
  if (db.kind === 'embedded') await db.query({ text: 'delete from replicas where id <> $1', values: [replicaId] });
  await sendHeartbeat(db, replicaId);
}

export async function sendHeartbeat(db: Database, replicaId: string): Promise<void> {
  await db.query({
    text: `
      insert into replicas (id) values ($1)
      on conflict (id) do update set heartbeat_at = now()`,
    values: [replicaId],
  });
}

/**
 * Takes over turns that nobody executes: of replicas that are silent or have released them, and this one's own where the store
 * failed to take a step (`executing` names the others). Each comes back with its attempt already counted up.
 */
export async function adoptOrphans(db: Database, replicaId: string, executing: readonly string[]): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>({
    text: `
      with orphan as (
        select r.project_id, r.id from runs r
        where r.status = 'in_progress' and case
          when r.replica_id = $1 then r.updated_at < now() - interval '${ABANDONED_SECONDS} seconds' and r.id <> all ($2)
          else not exists (
            select 1 from replicas p
            where p.id = r.replica_id and p.heartbeat_at > now() - interval '${LEASE_SECONDS} seconds')
          end
        limit ${ADOPT_AT_ONCE}
        for update of r skip locked
      )
      update runs set replica_id = $1, attempt = attempt + 1, updated_at = now()
      from orphan
      where runs.project_id = orphan.project_id and runs.id = orphan.id
      returning runs.*`,
    values: [replicaId, executing],
  });
  return rows;
}

/** Gives up the lease of every turn, so that another replica takes them over at once. Returns how many there were. */
export async function releaseTurns(db: Database, replicaId: string): Promise<number> {
  const { rowCount } = await db.query({
    text: `update runs set replica_id = null, updated_at = now() where replica_id = $1 and status = 'in_progress'`,
    values: [replicaId],
  });
  await db.query({ text: 'delete from replicas where id = $1', values: [replicaId] });
  return rowCount;
}

export async function removeSilentReplicas(db: Database): Promise<void> {
  await db.query({ text: `delete from replicas where heartbeat_at < now() - interval '${REMOVE_AFTER}'` });
}
