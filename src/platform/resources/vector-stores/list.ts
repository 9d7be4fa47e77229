import { openAiPageReply, readOpenAiPage, requirePlace } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderVectorStore } from './render.ts';
import type { StoreListQuery } from './schema.ts';
import { findVectorStore, listVectorStores as listRows } from './store.ts';
import { smithOf } from './store-visibility.ts';

export async function listVectorStores({ db, caller, query }: ProjectRead<{ query: StoreListQuery }>) {
  const page = readOpenAiPage(query);
  await requirePlace(page, (id) => findVectorStore(db, id, smithOf(caller)));
  const rows = await listRows(db, page, smithOf(caller));
  return openAiPageReply(rows, page, renderVectorStore);
}
