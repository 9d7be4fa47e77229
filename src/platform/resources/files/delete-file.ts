import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { removeFileFromStores } from '../vector-stores/index.ts';
import { blobKey } from './blob-key.ts';
import { discardBlob, releaseBlob } from './keep-blob.ts';
import type { FilePath } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { removeFile } from './store.ts';

export async function deleteFile(
  deps: { readonly db: Database; readonly blobs: BlobStore },
  { tx, caller, params, log }: ProjectChange<{ params: FilePath }>,
) {
  const { projectId } = caller;
  if (!(await removeFile(tx, params.fid, smithOf(caller)))) throw new ApiError('not_found');
  await removeFileFromStores(tx, params.fid);
  const key = blobKey(projectId, params.fid);
  await releaseBlob(tx, key);
  tx.afterCommit(() => {
    discardBlob(deps, projectId, key).catch((error: unknown) => {
      log.warn({ err: error, file: params.fid }, 'a deleted file’s bytes are left for the sweep');
    });
  });
  return { id: params.fid, object: 'file' as const, deleted: true as const };
}
