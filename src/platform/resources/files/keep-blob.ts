/**
 * Blobs and the rows that stand for them. A row never lacks its blob, and a blob whose row never came, or is gone, does
 * not stay for good:
 *
 *   noted (removable in an hour) ─▶ stored ─▶ claimed, with its row ─▶ released, with its row's end ─▶ removed
 *        └───────────────┴── refused, or the process died ──▶ removed, at once or by the sweep (platform/maintenance)
 *
 * A note is renewed while its blob is being stored, for an upload may take longer than that.
 */
import { type BlobStore, BlobTooLargeError, type StoredBlob } from '../../../kernel/blobs/blobs.ts';
import { setTicker } from '../../../kernel/clock/timers.ts';
import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import {
  claimBlobs as claimRows,
  extendUnclaimedBlob,
  insertUnclaimedBlob,
  insertUnclaimedBlobs,
  removeUnclaimedBlob,
  takeUnclaimedBlob,
} from './unclaimed-blob-store.ts';

export interface BlobDependencies {
  readonly db: Executor;
  readonly blobs: BlobStore;
}

/** A blob that no row comes for within this time is removed. */
const CLAIM_HOURS = 1;
/** How often the note of a blob that is being stored is renewed: twice may fail before its time is over. */
const RENEW_EVERY_MS = 20 * 60_000;

/**
 * Stores the bytes under the key, until `claimBlobs` for good. Throws `payload_too_large` and `storage_unavailable`; an
 * ApiError of the source passes. After an error nothing is stored.
 */
export async function keepBlob(
  { db, blobs }: BlobDependencies,
  projectId: string,
  key: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  renewEveryMs: number = RENEW_EVERY_MS,
): Promise<StoredBlob> {
  const scope = tenantDb(db, projectId);
  await insertUnclaimedBlob(scope, key, CLAIM_HOURS);
  // A renewal that fails is made up for by the next one, or the claim finds that the time is over.
  const renewal = setTicker(() => extendUnclaimedBlob(scope, key, CLAIM_HOURS).catch(() => {}), renewEveryMs);
  try {
    return await blobs.put(key, source, { maxBytes });
  } catch (error) {
    await removeUnclaimedBlob(scope, key);
    if (error instanceof ApiError) throw error;
    if (error instanceof BlobTooLargeError) {
      throw new ApiError('payload_too_large', { message: `The file is larger than ${maxBytes} bytes.` });
    }
    throw new ApiError('storage_unavailable', { cause: error });
  } finally {
    renewal.cancel();
  }
}

/** Call in the transaction that writes the blobs' rows. */
export async function claimBlobs(tx: TenantDb, keys: readonly string[]): Promise<void> {
  if ((await claimRows(tx, keys)) === keys.length) return;
  throw new ApiError('storage_unavailable', { message: 'The upload took too long. Send it again.' });
}

/** Call in the transaction that ends the blob's row; then `discardBlob` once it has committed. */
export async function releaseBlob(tx: TenantDb, key: string): Promise<void> {
  await insertUnclaimedBlob(tx, key, 0);
}

/** As `releaseBlob`, for several. */
export async function releaseBlobs(tx: TenantDb, keys: readonly string[]): Promise<void> {
  await insertUnclaimedBlobs(tx, keys, 0);
}

/**
 * Removes a blob unless a row stands for it: whoever does not know whether its transaction has committed may call this too.
 * What fails here is left to the sweep.
 */
export async function discardBlob({ db, blobs }: BlobDependencies, projectId: string, key: string): Promise<void> {
  const scope = tenantDb(db, projectId);
  if (!(await takeUnclaimedBlob(scope, key))) return;
  await blobs.remove(key);
  await removeUnclaimedBlob(scope, key);
}
