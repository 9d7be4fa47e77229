/** Rows of smiths. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { isUniqueViolation } from '../../kernel/db/sql-errors.ts';
import { json } from '../../kernel/db/values.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { TenantTables } from '../tables.ts';
import type { SmithState } from './smith-state.ts';

/** A smith with the agent version that its next turn runs. */
export type SmithRow = Omit<Selectable<TenantTables['smith_configurations']>, 'project_id' | 'agent_name'>;

/** A smith's own row, held by this transaction. */
export interface LockedSmith extends SmithState {
  id: string;
  rollout_slot: number;
}

export interface NewSmith extends SmithState {
  id: string;
  external_id: string | null;
  rollout_slot: number;
}

/** The id in the order of the indexes that serve filters (see 0002_smith_indexes.sql); the same order as the id's own. */
export const idOfFiltered = sql<string>`id collate "C"`;

/** Live smiths. */
export function selectSmiths(db: TenantDb) {
  return db
    .selectFrom('smith_configurations')
    .select([
      'id',
      'external_id',
      'agent_id',
      'customer_id',
      'display_name',
      'locale',
      'timezone',
      'metadata',
      'config',
      'pin',
      'rollout_slot',
      'revision',
      'created_at',
      'updated_at',
      'archived_at',
      'agent_version',
      'agent_snapshot',
    ])
    .where('archived_at', 'is', null);
}

export async function findSmith(db: TenantDb, id: string): Promise<SmithRow | undefined> {
  return selectSmiths(db).where('id', '=', id).executeTakeFirst();
}

/** Throws `not_found`. */
export async function getSmithRow(db: TenantDb, id: string): Promise<SmithRow> {
  const row = await findSmith(db, id);
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/** The live smiths of an external id, one an agent at most. */
export async function listByExternalId(db: TenantDb, externalId: string): Promise<SmithRow[]> {
  return selectSmiths(db).where('external_id', '=', externalId).execute();
}

/** Holds the smith until the transaction ends, so that changes to it happen one after the other. */
export async function lockSmith(db: TenantDb, id: string): Promise<LockedSmith | undefined> {
  return db
    .selectFrom('smiths')
    .select([
      'id',
      'display_name',
      'locale',
      'timezone',
      'customer_id',
      'metadata',
      'agent_id',
      'pin',
      'config',
      'rollout_slot',
    ])
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

/** False when a live smith already has the external id on that agent; waits for one that is just being made. */
export async function insertSmith(db: TenantDb, smith: NewSmith): Promise<boolean> {
  const row = await db
    .insertInto('smiths')
    .values({ ...smith, metadata: json(smith.metadata), config: json(smith.config), revision: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Writes the state as the next revision. False when the agent already has a live smith of that external id: the
 * transaction is lost then.
 */
export async function updateSmith(db: TenantDb, id: string, state: SmithState, rolloutSlot: number): Promise<boolean> {
  try {
    await db
      .updateTable('smiths')
      .set({
        ...state,
        metadata: json(state.metadata),
        config: json(state.config),
        rollout_slot: rolloutSlot,
        revision: sql<number>`revision + 1`,
        updated_at: sql<Date>`now()`,
      })
      .where('id', '=', id)
      .execute();
    return true;
  } catch (error) {
    if (isUniqueViolation(error, 'smiths_live_external_id')) return false;
    throw error;
  }
}

export async function archiveSmith(db: TenantDb, id: string): Promise<void> {
  await db.updateTable('smiths').set({ archived_at: sql<Date>`now()` }).where('id', '=', id).execute();
}

/** Ends every token of the smith that still stands. Returns them. */
export async function revokeTokens(db: TenantDb, smithId: string): Promise<{ id: string; name: string | null }[]> {
  return db
    .updateTable('tokens')
    .set({ revoked_at: sql<Date>`now()` })
    .where('smith_id', '=', smithId)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]))
    .returning(['id', 'name'])
    .execute();
}

/** End users' own keys: sealed secrets do not outlive whom they were for. */
export async function removeModelKeys(db: TenantDb, smithId: string): Promise<void> {
  await db.deleteFrom('model_keys').where('smith_id', '=', smithId).execute();
}
