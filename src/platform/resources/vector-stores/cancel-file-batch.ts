import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { cancelBatchFiles } from '../../knowledge/ingest/index.ts';
import { readFileBatch } from './get-file-batch.ts';
import type { VectorStoreBatchPath, VectorStoreFileBatch } from './schema.ts';
import { findBatch, markBatchCancelled } from './store.ts';
import { holdVisibleStore } from './store-visibility.ts';

/** Cancels at once, so that nobody who polls meets a status in between. A batch that has ended stays as it ended. */
export async function cancelFileBatch({
  tx,
  caller,
  params,
}: ProjectChange<{ params: VectorStoreBatchPath }>): Promise<VectorStoreFileBatch> {
  const store = await holdVisibleStore(tx, caller, params.vsId);
  if ((await findBatch(tx, store.id, params.bid)) === undefined) throw new ApiError('not_found');
  const cancelled = await cancelBatchFiles(tx, store, params.bid);
  if (cancelled > 0) await markBatchCancelled(tx, store.id, params.bid);
  return readFileBatch(tx, caller, params);
}
