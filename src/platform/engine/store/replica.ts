/**
 * Leases. A replica (server process) that executes turns sends one heartbeat a second for all of them. A turn whose
 * replica has sent none for LEASE_SECONDS, or has released it, is taken over by the replica that asks first (orphans.ts).
 *
 * A replica that holds nothing rests (`resting`): its row goes without heartbeats, and its silence means nothing. One that is killed
 * while it rests has not ended abruptly, as nothing ended with it. Its first heartbeat ends the rest.
 */

import type { Database, Executor } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';

export const HEARTBEAT_MS = 1_000;
export const LEASE_SECONDS = 5;
/** Rows of replicas that have been silent for so long are removed. */
const REMOVE_AFTER = '1 hour';

/** The replica rests until its first heartbeat. */
export async function registerReplica(db: Database, replicaId: string): Promise<void> {
  // One process at a time owns an embedded store: the others are dead, and their leases need not run out.
  if (db.kind === 'embedded') {
    await db.query({
      text: `
        update replicas set heartbeat_at = least(heartbeat_at, now() - interval '${LEASE_SECONDS} seconds')
        where id <> $1`,
      values: [replicaId],
    });
  }
  await db.query({
    text: 'insert into replicas (id, resting) values ($1, true) on conflict (id) do nothing',
    values: [replicaId],
  });
}

export async function sendHeartbeat(db: Database, replicaId: string): Promise<void> {
  await asLook(db).query({
    text: `
      insert into replicas (id) values ($1)
      on conflict (id) do update set heartbeat_at = now(), resting = false`,
    values: [replicaId],
  });
}

/** The last heartbeat before a rest. False, and nothing is written, while the store has a turn of this replica. */
export async function restReplica(db: Database, replicaId: string): Promise<boolean> {
  const { rowCount } = await asLook(db).query({
    text: `
      update replicas set heartbeat_at = now(), resting = true
      where id = $1 and not exists (select from runs where replica_id = $1 and status = 'in_progress')`,
    values: [replicaId],
  });
  return rowCount > 0;
}

/** From here on the replica stops in order: its end, also one that comes before it is through, is no abrupt one. */
export async function beginLeaving(db: Database, replicaId: string): Promise<void> {
  await db.query({
    // The row of one that rested for long may have been removed.
    text: 'insert into replicas (id, leaving) values ($1, true) on conflict (id) do update set leaving = true',
    values: [replicaId],
  });
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

/** The first of these replicas that takes turns. A replica that rests is none: whoever is asked here holds questions, and so beats. */
export async function findWorkingReplica(db: Executor, ids: readonly string[]): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  const { rows } = await db.query<{ id: string }>({
    text: `
      select id from replicas
      where id = any ($1) and not leaving and heartbeat_at > now() - interval '${LEASE_SECONDS} seconds'
      order by array_position($1, id) limit 1`,
    values: [ids],
  });
  return rows[0]?.id;
}

/** Whether several replicas have ended abruptly in the last minute, and nothing explains it. */
export async function replicasKeepEnding(db: Executor): Promise<boolean> {
  const { rows } = await db.query<{ keep_ending: boolean }>({
    text: `
      select count(*) > 1 as keep_ending from replicas
      where not leaving and not explained
        and not resting and heartbeat_at between now() - interval '1 minute' and now() - interval '${LEASE_SECONDS} seconds'`,
    values: [],
  });
  return rows[0]?.keep_ending === true;
}

export async function removeSilentReplicas(db: Database): Promise<void> {
  await asLook(db).query({ text: `delete from replicas where heartbeat_at < now() - interval '${REMOVE_AFTER}'` });
}
