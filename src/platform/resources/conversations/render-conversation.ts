import type { Conversation } from './schema.ts';
import type { ConversationRow } from './store.ts';

/** The public shape of a row. */
export function renderConversation(row: ConversationRow): Conversation {
  return {
    id: row.id,
    object: 'conversation',
    created_at: unixSeconds(row.created_at),
    updated_at: unixSeconds(row.updated_at),
    title: row.title,
    smith_id: row.smith_id,
    // Only strings are taken in.
    metadata: row.metadata as Record<string, string>,
  };
}

function unixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
