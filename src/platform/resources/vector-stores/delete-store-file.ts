import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { removeFiles } from '../../knowledge/ingest/index.ts';
import type { VectorStoreFilePath } from './schema.ts';
import { holdVisibleStore } from './store-visibility.ts';

/** Takes the file out of the store; the file itself stays. */
export async function deleteStoreFile({ tx, caller, params }: ProjectChange<{ params: VectorStoreFilePath }>) {
  const store = await holdVisibleStore(tx, caller, params.vsId);
  if ((await removeFiles(tx, store, [params.fid])) === 0) throw new ApiError('not_found');
  return { id: params.fid, object: 'vector_store.file.deleted' as const, deleted: true as const };
}
