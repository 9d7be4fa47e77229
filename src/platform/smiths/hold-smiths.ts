/** Holding many smiths of one project for the rest of the transaction, always by id (see agent-membership.ts). */
import { sql } from 'kysely';
import type { TenantDb } from '../store/tenant-db.ts';
import { idOfFiltered } from './smith-store.ts';

export interface HeldSmith {
  id: string;
  agent_id: string | null;
  /** The settings that it has of its own. */
  own_keys: string[];
}

/** The live ones among these ids, by id. */
export async function holdSmiths(db: TenantDb, ids: readonly string[]): Promise<HeldSmith[]> {
  return db
    .selectFrom('smiths')
    .select(['id', 'agent_id', sql<string[]>`jsonb_path_query_array(config, '$.keyvalue().key')`.as('own_keys')])
    .where('id', 'in', ids)
    .where('archived_at', 'is', null)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}

function selectCustom(db: TenantDb) {
  return (
    db
      .selectFrom('smiths')
      .select('id')
      .where('agent_id', 'is', null)
      .where('archived_at', 'is', null)
      // Null does not count as one value: with the column named, the index has the order, and nothing is sorted.
      .orderBy('agent_id')
      .orderBy(idOfFiltered)
      .forNoKeyUpdate()
  );
}

/** Holds every live smith that follows no agent. Returns how many; their rows stay in the database. */
export async function holdCustomSmiths(db: TenantDb): Promise<number> {
  const row = await db
    .selectFrom(selectCustom(db).as('held'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

/**
 * Up to `limit` ids beyond `after` of the smiths that `holdCustomSmiths` holds. One that was made since and is held by
 * somebody else is left out: waiting for it now would be out of order.
 */
export async function listCustomSmiths(db: TenantDb, after: string, limit: number): Promise<string[]> {
  const rows = await selectCustom(db).where(idOfFiltered, '>', after).limit(limit).skipLocked().execute();
  return rows.map(({ id }) => id);
}
