import { openAiPageReply, readOpenAiPage, requirePlace } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { hasTombstone } from '../../store/tombstones.ts';
import { renderVectorStore } from './render.ts';
import type { StoreListQuery } from './schema.ts';
import { findVectorStore, listVectorStores as listRows } from './store.ts';
import { smithOf } from './store-visibility.ts';

export async function listVectorStores({ db, caller, query }: ProjectRead<{ query: StoreListQuery }>) {
  const page = readOpenAiPage(query);
  const smithId = smithOf(caller);
  await requirePlace(page, async (id) => {
    return (await findVectorStore(db, id, smithId)) !== undefined || hasTombstone(db, 'vector_store', id, smithId);
  });
  const rows = await listRows(db, page, smithId);
  return openAiPageReply(rows, page, renderVectorStore);
}
