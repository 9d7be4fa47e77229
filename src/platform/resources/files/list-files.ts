import { openAiPageReply, readOpenAiPage, requirePlace, scanOf } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { hasTombstone } from '../../store/tombstones.ts';
import { renderFile } from './render-file.ts';
import type { FileListQuery } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { hasListedFile, listFiles as listRows } from './store.ts';

export async function listFiles({ db, caller, query }: ProjectRead<{ query: FileListQuery }>) {
  const page = readOpenAiPage(query);
  const filter = { smithId: smithOf(caller), purpose: query.purpose };
  // A tombstone does not say the purpose: the order is the same with any.
  await requirePlace(page, async (id) => {
    return (await hasListedFile(db, id, filter)) || hasTombstone(db, 'file', id, filter.smithId);
  });
  const rows = await listRows(db, { ...filter, limit: page.limit, ...scanOf(page) });
  return openAiPageReply(rows, page, renderFile);
}
