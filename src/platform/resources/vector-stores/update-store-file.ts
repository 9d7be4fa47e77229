import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { readStoreFile } from './get-store-file.ts';
import type { VectorStoreFile, VectorStoreFilePath, VectorStoreFileUpdate } from './schema.ts';
import { updateAttributes } from './store-file-store.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function updateStoreFile({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: VectorStoreFilePath; body: VectorStoreFileUpdate }>): Promise<VectorStoreFile> {
  const store = await getVisibleStore(tx, caller, params.vsId);
  const found = await updateAttributes(tx, store.id, params.fid, body.attributes);
  if (!found) throw new ApiError('not_found');
  return readStoreFile(tx, caller, params);
}
