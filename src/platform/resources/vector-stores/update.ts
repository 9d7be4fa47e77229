import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { getVectorStore } from './get.ts';
import { readExpiry } from './read-expiry.ts';
import type { VectorStore, VectorStorePatch, VectorStorePath } from './schema.ts';
import { updateVectorStore as updateRow, type VectorStoreChange } from './store.ts';
import { getVisibleStore, requireUnexpired } from './store-visibility.ts';

/** A body that names nothing of the store's changes nothing: clients of the dialect send members that are not known here. */
export async function updateVectorStore({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: VectorStorePath; body: VectorStorePatch }>): Promise<VectorStore> {
  const store = await getVisibleStore(tx, caller, params.vsId);
  if (body.expires_after !== undefined) requireUnexpired(store.is_expired);
  const change: VectorStoreChange = {
    ...(body.name === undefined ? {} : { name: body.name ?? '' }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...(body.metadata === undefined ? {} : { metadata: body.metadata ?? {} }),
    ...(body.expires_after === undefined ? {} : { expires_after_seconds: readExpiry(body.expires_after) }),
  };
  if (Object.keys(change).length > 0) {
    const found = await updateRow(tx, params.vsId, change);
    if (!found) throw new ApiError('not_found');
  }
  return getVectorStore({ db: tx, caller, params });
}
