import { openAiPageReply, readOpenAiPage, requirePlace, scanOf } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { hasTombstone } from '../../store/tombstones.ts';
import { renderConversation } from './render-conversation.ts';
import { smithOf } from './require-conversation.ts';
import type { ConversationListQuery } from './schema.ts';
import { hasConversation, listConversations as listRows } from './store.ts';

export async function listConversations({ db, caller, query }: ProjectRead<{ query: ConversationListQuery }>) {
  const page = readOpenAiPage(query);
  const smithId = smithOf(caller);
  await requirePlace(page, async (id) => {
    return (await hasConversation(db, id, smithId)) || hasTombstone(db, 'conversation', id, smithId);
  });
  const rows = await listRows(db, { smithId, limit: page.limit, ...scanOf(page) });
  return openAiPageReply(rows, page, renderConversation);
}
