/** Ends the keeping of bundles that nothing needs any more. */
import type { BlobStore } from '../../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../../kernel/db/database.ts';
import type { Logger } from '../../../../kernel/log/log.ts';
import type { TenantTransaction } from '../../../store/tenant-db.ts';
import { blobKey, discardBlob, giveBackStorage, releaseBlobs } from '../../files/index.ts';
import { removeUnusedBundle } from './store.ts';

export interface ReleaseDependencies {
  readonly db: Database;
  readonly blobs: BlobStore;
}

/**
 * Removes the bundle unless something needs it; its bytes go once the transaction has committed. Call last: see
 * storage-quota.ts. What is still needed, or held by another transaction, the sweep removes when it is not.
 */
export async function releaseBundle(
  deps: ReleaseDependencies,
  tx: TenantTransaction,
  contentHash: string,
  log: Logger,
): Promise<void> {
  const removed = await removeUnusedBundle(tx, contentHash);
  if (removed === undefined) return;
  const key = blobKey(tx.projectId, removed.blob_id);
  await releaseBlobs(tx, [key]);
  await giveBackStorage(tx, removed.bytes);
  discardAfterCommit(deps, tx, removed.blob_id, log);
}

/** Removes the blob once the transaction has committed, unless a row stands for it. */
export function discardAfterCommit(
  deps: ReleaseDependencies,
  tx: TenantTransaction,
  blobId: string,
  log: Logger,
): void {
  tx.afterCommit(() => {
    discardBlob(deps, tx.projectId, blobKey(tx.projectId, blobId)).catch((error: unknown) => {
      log.warn({ err: error, blob: blobId }, 'a UI bundle’s bytes are left for the sweep');
    });
  });
}
