import { ApiError } from '../../../kernel/http/errors.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { enqueueStoreRemoval } from '../../knowledge/ingest/index.ts';
import { insertTombstone } from '../../store/tombstones.ts';
import type { VectorStorePath } from './schema.ts';
import { markStoreDeleted } from './store.ts';
import { getVisibleStore } from './store-visibility.ts';

/** The files themselves stay. */
export async function deleteVectorStore(
  jobs: Jobs,
  { tx, caller, params }: ProjectChange<{ params: VectorStorePath }>,
) {
  const { smith_id } = await getVisibleStore(tx, caller, params.vsId);
  if (!(await markStoreDeleted(tx, params.vsId))) throw new ApiError('not_found');
  await insertTombstone(tx, 'vector_store', { id: params.vsId, smith_id });
  await appendEvent(tx, {
    type: 'vector_store.deleted',
    smithId: smith_id,
    actor: actorOf(caller),
    data: { vector_store_id: params.vsId },
  });
  await enqueueStoreRemoval(tx, jobs, params.vsId);
  return { id: params.vsId, object: 'vector_store.deleted' as const, deleted: true as const };
}
