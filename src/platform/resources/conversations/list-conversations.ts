import { openAiPageReply, readOpenAiPage, requirePlace, scanOf } from '../../../kernel/http/openai-paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderConversation } from './render-conversation.ts';
import { smithOf } from './require-conversation.ts';
import type { ConversationListQuery } from './schema.ts';
import { findConversation, listConversations as listRows } from './store.ts';

export async function listConversations({ db, caller, query }: ProjectRead<{ query: ConversationListQuery }>) {
  const page = readOpenAiPage(query);
  await requirePlace(page, (id) => findConversation(db, id, smithOf(caller)));
  const rows = await listRows(db, {
    smithId: smithOf(caller),
    limit: page.limit,
    ...scanOf(page),
  });
  return openAiPageReply(rows, page, renderConversation);
}
