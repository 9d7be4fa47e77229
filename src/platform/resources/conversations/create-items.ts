import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendItems } from './append-items.ts';
import { requireConversation } from './require-conversation.ts';
import { itemsOf } from './row-items.ts';
import type { ConversationItemList, ConversationItemsCreate, ConversationPath } from './schema.ts';
import { touchConversation } from './store.ts';

/** Adds the items behind what the conversation holds. No model runs. */
export async function createItems({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: ConversationPath; body: ConversationItemsCreate }>): Promise<ConversationItemList> {
  const { id, smith_id } = await requireConversation(tx, caller, params.cnvId);
  // Those who add wait here for each other and not at the thread's row, so that a run that starts seldom finds it taken.
  if (!(await touchConversation(tx, id))) throw new ApiError('conversation_not_found');
  const rows = await appendItems(tx, { caller, id, smith_id }, body.items);
  const data = rows
    .flatMap((row) => itemsOf(id, row, undefined))
    .flatMap(({ item }) => (item === undefined ? [] : [item]));
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: false,
  };
}
