import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { cancelBatchFiles } from '../../knowledge/ingest/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
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
  const db = tenantDb(tx, caller.projectId);
  if ((await findBatch(db, store.id, params.bid)) === undefined) throw new ApiError('not_found');
  const cancelled = await cancelBatchFiles(tx, store, params.bid);
  if (cancelled > 0) await markBatchCancelled(db, store.id, params.bid);
  return readFileBatch(tx, caller, params);
}
