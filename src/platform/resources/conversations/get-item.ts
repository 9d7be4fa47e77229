import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { findItem } from './find-item.ts';
import { requireConversation } from './require-conversation.ts';
import type { ConversationItem, ConversationItemPath } from './schema.ts';

export async function getItem({
  db,
  caller,
  params,
}: ProjectRead<{ params: ConversationItemPath }>): Promise<ConversationItem> {
  const thread = await requireConversation(db, caller, params.cnvId);
  const found = await findItem(db, thread, params.itemId);
  if (found?.found.item === undefined) throw new ApiError('not_found');
  return found.found.item;
}
