import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { resolveSmith } from '../../surfaces/openai/index.ts';
import { appendItems } from './append-items.ts';
import { renderConversation } from './render-conversation.ts';
import { requireConversation } from './require-conversation.ts';
import type { Conversation, ConversationCreate } from './schema.ts';
import { insertConversation } from './store.ts';

export async function createConversation({
  tx,
  caller,
  headers,
  body,
}: ProjectChange<{ body: ConversationCreate }>): Promise<Conversation> {
  // A smith that `IC-Agent-Id` provisions is there with its conversation or not at all.
  const smithId = await resolveSmith(tx, { caller, headers, user: body.user });
  const id = mintId('cnv');
  await insertConversation(tx, {
    id,
    smith_id: smithId,
    title: body.title ?? null,
    metadata: body.metadata ?? {},
  });
  const items = body.items ?? [];
  if (items.length > 0) await appendItems(tx, { caller, id, smith_id: smithId }, items);
  return renderConversation(await requireConversation(tx, caller, id));
}
