/** Rows that account for blobs without a row of their own; see keep-blob.ts. */
import { sql } from 'kysely';
import type { TenantDb } from '../../store/tenant-db.ts';

/** Notes a blob that is removed unless its row comes within these hours; 0: at the next occasion. */
export async function insertUnclaimedBlob(db: TenantDb, key: string, hours: number): Promise<void> {
  await insertUnclaimedBlobs(db, [key], hours);
}

/** As `insertUnclaimedBlob`, for several; at least one. */
export async function insertUnclaimedBlobs(db: TenantDb, keys: readonly string[], hours: number): Promise<void> {
  const removable_at = sql<Date>`now() + make_interval(hours => ${hours})`;
  await db
    .insertInto('unclaimed_blobs')
    .values(keys.map((blob_key) => ({ blob_key, removable_at })))
    .execute();
}

/** Takes the notes away for the rows that are written in the same transaction. How many of the blobs had time left. */
export async function claimBlobs(db: TenantDb, keys: readonly string[]): Promise<number> {
  const result = await db
    .deleteFrom('unclaimed_blobs')
    .where(sql<boolean>`blob_key = any(${keys})`)
    .where('removable_at', '>', sql<Date>`now()`)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Gives the blob these hours from now on, unless its time has come. */
export async function extendUnclaimedBlob(db: TenantDb, key: string, hours: number): Promise<void> {
  await db
    .updateTable('unclaimed_blobs')
    .set({ removable_at: sql<Date>`now() + make_interval(hours => ${hours})` })
    .where('blob_key', '=', key)
    .where('removable_at', '>', sql<Date>`now()`)
    .execute();
}

/** Ends the blob's time, so that nobody claims it any more. False when it has been claimed, or removed. */
export async function takeUnclaimedBlob(db: TenantDb, key: string): Promise<boolean> {
  const result = await db
    .updateTable('unclaimed_blobs')
    .set({ removable_at: sql<Date>`'-infinity'` })
    .where('blob_key', '=', key)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Forgets a blob that has been removed. */
export async function removeUnclaimedBlob(db: TenantDb, key: string): Promise<void> {
  await db.deleteFrom('unclaimed_blobs').where('blob_key', '=', key).execute();
}
