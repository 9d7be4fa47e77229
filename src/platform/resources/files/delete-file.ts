import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { ProjectChange } from '../../access/operation.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { insertTombstone } from '../../store/tombstones.ts';
import { removeFileFromStores } from '../vector-stores/index.ts';
import { blobKey } from './blob-key.ts';
import { discardBlob, releaseBlob } from './keep-blob.ts';
import type { FilePath } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { giveBackStorage } from './storage-quota.ts';
import { findFile, removeFile } from './store.ts';

export async function deleteFile(
  deps: { readonly db: Database; readonly blobs: BlobStore },
  { tx, caller, params, log }: ProjectChange<{ params: FilePath }>,
) {
  const fileId = params.fid;
  if ((await findFile(tx, fileId, smithOf(caller))) === undefined) throw new ApiError('not_found');
  const removed = await removeFileWithContent(deps, tx, { fileId, smithId: smithOf(caller), log });
  if (!removed) throw new ApiError('not_found');
  return { id: fileId, object: 'file' as const, deleted: true as const };
}

/** Takes the file out of its stores too; its bytes go once the transaction has committed. False when it is not there. */
export async function removeFileWithContent(
  deps: { readonly db: Database; readonly blobs: BlobStore },
  tx: TenantTransaction,
  { fileId, smithId, log }: { readonly fileId: string; readonly smithId: string | undefined; readonly log: Logger },
): Promise<boolean> {
  const removed = await removeFile(tx, fileId, smithId);
  if (removed === undefined) return false;
  if (removed.listed) await insertTombstone(tx, 'file', { id: fileId, smith_id: removed.smith_id });
  await removeFileFromStores(tx, fileId);
  const key = blobKey(tx.projectId, fileId);
  await releaseBlob(tx, key);
  await giveBackStorage(tx, removed.bytes);
  tx.afterCommit(() => {
    discardBlob(deps, tx.projectId, key).catch((error: unknown) => {
      log.warn({ err: error, file: fileId }, 'a deleted file’s bytes are left for the sweep');
    });
  });
  return true;
}
