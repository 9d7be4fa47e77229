import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { renderConversation } from './render-conversation.ts';
import { requireConversation } from './require-conversation.ts';
import type { Conversation, ConversationPath, ConversationUpdate } from './schema.ts';
import { touchConversation } from './store.ts';

export async function updateConversation({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: ConversationPath; body: ConversationUpdate }>): Promise<Conversation> {
  const { title, metadata } = body;
  if (title === undefined && metadata === undefined) throw new ApiError('nothing_to_update');
  const { id } = await requireConversation(tx, caller, params.cnvId);
  await touchConversation(tx, id, {
    ...(title === undefined ? {} : { title }),
    ...(metadata === undefined ? {} : { metadata: metadata ?? {} }),
  });
  return renderConversation(await requireConversation(tx, caller, id));
}
