import type { ProjectRead } from '../../access/operation.ts';
import { renderConversation } from './render-conversation.ts';
import { requireConversation } from './require-conversation.ts';
import type { Conversation, ConversationPath } from './schema.ts';

export async function getConversation({
  db,
  caller,
  params,
}: ProjectRead<{ params: ConversationPath }>): Promise<Conversation> {
  return renderConversation(await requireConversation(db, caller, params.cnvId));
}
