/** What other resources may ask of conversations. */
import type { ProjectCaller } from '../../access/caller.ts';
import { mayRefer } from '../../access/references.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { type ConversationRow, findConversation as findRow } from './store.ts';

export { defineConversationPurge } from './purge-conversation.ts';
export type { ConversationRow } from './store.ts';

/**
 * The smith's conversation, as far as the caller may refer to it; its id is that of the thread in which its turns run.
 * Undefined also for a deleted one, and one whose smith is archived.
 */
export async function findConversation(
  db: TenantDb,
  caller: ProjectCaller,
  conversationId: string,
  smithId: string,
): Promise<ConversationRow | undefined> {
  if (!mayRefer(caller, 'conversation')) return undefined;
  return findRow(db, conversationId, smithId);
}
