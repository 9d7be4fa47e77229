/**
 * Blobs and the rows that stand for them. A row never lacks its blob, and a blob whose row never came, or is gone, does
 * not stay for good:
 *
 *   noted (removable in a day) ─▶ stored ─▶ claimed, with its row ─▶ released, with its row's end ─▶ removed
 *        └──────────────┴── refused, or the process died ──▶ removed, at once or by the sweep (platform/maintenance)
 */
import { type BlobStore, BlobTooLargeError, type StoredBlob } from '../../../kernel/blobs/blobs.ts';
import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import { claimBlob as claimRow, insertUnclaimedBlob, removeUnclaimedBlob } from './unclaimed-blob-store.ts';

export interface BlobDependencies {
  readonly db: Executor;
  readonly blobs: BlobStore;
}

/** A blob that no row comes for within this time is removed. No upload takes as long. */
const CLAIM_HOURS = 24;

/**
 * Stores the bytes under the key, until `claimBlob` for good. Throws `payload_too_large` and `storage_unavailable`; an
 * ApiError of the source passes. After an error nothing is stored.
 */
export async function keepBlob(
  { db, blobs }: BlobDependencies,
  projectId: string,
  key: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<StoredBlob> {
  const scope = tenantDb(db, projectId);
  await insertUnclaimedBlob(scope, key, CLAIM_HOURS);
  try {
    return await blobs.put(key, source, { maxBytes });
  } catch (error) {
    await removeUnclaimedBlob(scope, key);
    if (error instanceof ApiError) throw error;
    if (error instanceof BlobTooLargeError) {
      throw new ApiError('payload_too_large', { message: `The file is larger than ${maxBytes} bytes.` });
    }
    throw new ApiError('storage_unavailable', { cause: error });
  }
}

/** Call in the transaction that writes the blob's row. */
export async function claimBlob(tx: TenantDb, key: string): Promise<void> {
  if (await claimRow(tx, key)) return;
  throw new ApiError('storage_unavailable', { message: 'The upload took too long. Send it again.' });
}

/** Call in the transaction that ends the blob's row; then `discardBlob` once it has committed. */
export async function releaseBlob(tx: TenantDb, key: string): Promise<void> {
  await insertUnclaimedBlob(tx, key, 0);
}

/** Removes a blob that no row stands for. What fails here is left to the sweep. */
export async function discardBlob({ db, blobs }: BlobDependencies, projectId: string, key: string): Promise<void> {
  await blobs.remove(key);
  await removeUnclaimedBlob(tenantDb(db, projectId), key);
}
