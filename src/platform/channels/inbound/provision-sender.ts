/** The smith of somebody who speaks to an agent: it is there once the first turn of theirs is about to begin. */
import { ASYNC_COMMIT } from '../../../kernel/db/async-commit.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { provisionForDeployment } from '../../smiths/index.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import type { ClaimedContents, WaitingChat } from './queue-store.ts';

/** The conversation with its smith. Throws what `provisionForDeployment` does. */
export async function provisionSender(db: Database, chat: ClaimedContents): Promise<WaitingChat> {
  if (chat.smith_id !== null) return { ...chat, smith_id: chat.smith_id };
  const { project_id, id: chatId, kind, sender, agent_id } = chat;
  const smithId = await new TenantDatabase(db, project_id).transaction(async (tx) => {
    const { id } = await provisionForDeployment(tx, { external_id: `${kind}:${sender}`, agent_id: agent_id ?? '' });
    // The agent's row is held until here: who writes to it next should not wait for the disk. The turn's end does.
    await tx.raw({
      text: `
        with events as (
          update inbound_events set smith_id = $3
          where project_id = $1 and chat_id = $2 and state = 'waiting' and smith_id is null
        )
        update channel_chats set smith_id = $3
        where project_id = $1 and id = $2 and smith_id is null
        returning ${ASYNC_COMMIT}`,
      values: [chatId, id],
    });
    return id;
  });
  return { ...chat, smith_id: smithId };
}
