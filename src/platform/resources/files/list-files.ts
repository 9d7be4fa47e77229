import { openAiPageReply, readOpenAiPage, requirePlace, scanOf } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderFile } from './render-file.ts';
import type { FileListQuery } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { findFile, listFiles as listRows } from './store.ts';

export async function listFiles({ db, caller, query }: ProjectRead<{ query: FileListQuery }>) {
  const page = readOpenAiPage(query);
  await requirePlace(page, async (id) => {
    const file = await findFile(db, id, smithOf(caller));
    return file?.listed === true && file.purpose === (query.purpose ?? file.purpose) ? file : undefined;
  });
  const rows = await listRows(db, {
    smithId: smithOf(caller),
    purpose: query.purpose,
    limit: page.limit,
    ...scanOf(page),
  });
  return openAiPageReply(rows, page, renderFile);
}
