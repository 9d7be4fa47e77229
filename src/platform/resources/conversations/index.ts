/** What other resources may ask of conversations. */
import type { Executor } from '../../../kernel/db/database.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { type ConversationRow, findConversation as findRow } from './store.ts';

export { defineConversationPurge } from './purge-conversation.ts';
export type { ConversationRow } from './store.ts';

/**
 * The conversation; its id is that of the thread in which its turns run. With a smith, that smith's alone; null: any of
 * the project. Undefined also for a deleted one, and one whose smith is archived.
 */
export async function findConversation(
  db: Executor,
  projectId: string,
  conversationId: string,
  smithId: string | null,
): Promise<ConversationRow | undefined> {
  return findRow(tenantDb(db, projectId), conversationId, smithId ?? undefined);
}
