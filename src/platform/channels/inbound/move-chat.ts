/** A chat that its provider has given another id: who was reached under the one is reached under the other. */
import type { Database } from '../../../kernel/db/database.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import type { OpenAccount } from '../channel.ts';

export interface MovedChat {
  readonly from: string;
  readonly to: string;
}

/**
 * The deployment of the chat, its conversations with what waits there, and what is to be sent. What the other id has already
 * stays as it is. Repeated, it changes nothing.
 */
export async function moveChat(
  db: Database,
  { projectId, kind, accountId }: OpenAccount,
  { from, to }: MovedChat,
): Promise<void> {
  await new TenantDatabase(db, projectId).transaction(async (tx) => {
    await tx.raw({
      text: `
        update deployments d set address = $5, updated_at = now()
        where d.project_id = $1 and d.kind = $2 and d.account_id in ('', $3) and d.address = $4
          and not exists (
            select from deployments o
            where o.project_id = d.project_id and o.kind = d.kind and o.account_id = d.account_id and o.address = $5)`,
      values: [kind, accountId, from, to],
    });
    // What an answer needs of its message is sealed for the place that it came from, and names a message there.
    await tx.raw({
      text: `
        with moved as (
          update channel_chats c set chat = $5, sender = $5
          from deployments d
          where c.project_id = $1 and d.project_id = c.project_id and d.id = c.deployment_id and d.kind = $2
            and c.account_id = $3 and c.chat = $4 and c.sender = $4
            and not exists (
              select from channel_chats o
              where o.project_id = c.project_id and o.deployment_id = c.deployment_id and o.account_id = c.account_id
                and o.chat = $5 and o.sender = $5)
          returning c.id
        ), waiting as (
          update inbound_events set sealed_reply = null
          where project_id = $1 and state = 'waiting' and chat_id in (select id from moved)
        )
        update channel_answers set sealed_reply = null
        where project_id = $1 and state in ('open', 'planned') and chat_id in (select id from moved)`,
      values: [kind, accountId, from, to],
    });
    await tx.raw({
      text: `
        update channel_outboxes o set chat = $5
        where o.project_id = $1 and o.kind = $2 and o.account_id = $3 and o.chat = $4
          and not exists (
            select from channel_outboxes t
            where t.project_id = o.project_id and t.kind = o.kind and t.account_id = o.account_id and t.chat = $5)`,
      values: [kind, accountId, from, to],
    });
  });
}
