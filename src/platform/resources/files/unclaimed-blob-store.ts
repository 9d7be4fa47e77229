/** Rows that account for blobs without a row of their own; see keep-blob.ts. */
import { sql } from 'kysely';
import type { TenantDb } from '../../store/tenant-db.ts';

/** Notes a blob that is removed unless its row comes within these hours; 0: at the next occasion. */
export async function insertUnclaimedBlob(db: TenantDb, key: string, hours: number): Promise<void> {
  await db
    .insertInto('unclaimed_blobs')
    .values({ blob_key: key, removable_at: sql<Date>`now() + make_interval(hours => ${hours})` })
    .execute();
}

/** Takes the note away for the row that is written in the same transaction. False when the blob's time had come. */
export async function claimBlob(db: TenantDb, key: string): Promise<boolean> {
  const result = await db
    .deleteFrom('unclaimed_blobs')
    .where('blob_key', '=', key)
    .where('removable_at', '>', sql<Date>`now()`)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}

/** Forgets a blob that has been removed. */
export async function removeUnclaimedBlob(db: TenantDb, key: string): Promise<void> {
  await db.deleteFrom('unclaimed_blobs').where('blob_key', '=', key).execute();
}
