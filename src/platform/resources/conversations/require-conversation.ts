import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { type ConversationRow, findConversation } from './store.ts';

/** The smith whose conversations alone the caller sees and makes; undefined: every one of the project. */
export function smithOf(caller: ProjectCaller): string | undefined {
  return caller.kind === 'smith' ? caller.smithId : undefined;
}

/** The conversation as the caller may see it. Throws `conversation_not_found`. */
export async function requireConversation(
  db: TenantDb,
  caller: ProjectCaller,
  conversationId: string,
): Promise<ConversationRow> {
  const row = await findConversation(db, conversationId, smithOf(caller));
  if (row === undefined) throw new ApiError('conversation_not_found');
  return row;
}
