import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { pageStoreFiles } from './list-store-files.ts';
import type { FileListQuery, VectorStoreBatchPath } from './schema.ts';
import { findBatch } from './store.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function listBatchFiles({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: VectorStoreBatchPath; query: FileListQuery }>) {
  const store = await getVisibleStore(db, caller, params.vsId);
  const batch = await findBatch(db, store.id, params.bid);
  if (batch === undefined) throw new ApiError('not_found');
  return pageStoreFiles(db, store.id, query, batch.id);
}
