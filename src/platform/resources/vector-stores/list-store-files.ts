import { openAiPageReply, placeNotFound, readOpenAiPage } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { renderStoreFile } from './render.ts';
import type { FileListQuery, VectorStorePath } from './schema.ts';
import { listStoreFiles as listRows } from './store-file-store.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function listStoreFiles({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: VectorStorePath; query: FileListQuery }>) {
  await getVisibleStore(db, caller, params.vsId);
  return pageStoreFiles(db, params.vsId, query);
}

/** One page of the files of a store, or of one batch of it. */
export async function pageStoreFiles(db: TenantDb, vectorStoreId: string, query: FileListQuery, batchId?: string) {
  const page = readOpenAiPage(query);
  const rows = await listRows(db, vectorStoreId, page, {
    ...(query.filter === undefined ? {} : { status: query.filter }),
    ...(batchId === undefined ? {} : { batchId }),
  });
  if (rows === undefined) throw placeNotFound(page);
  return openAiPageReply(rows, page, renderStoreFile);
}
