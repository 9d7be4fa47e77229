/** What a mail server says that it could not deliver, or somebody complains of: the address gets no more mail. */
import { appendEvent } from '../../feed/append-event.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { readOwnId } from './conversation.ts';
import type { MailReport } from './read-mail/protocol.ts';
import { suppressAddress } from './suppression-store.ts';

interface SentMail {
  readonly deployment_id: string;
  readonly smith_id: string | null;
  readonly sender: string;
}

/** Anybody can write a report: one counts that names a mail which was sent, and then for whom that was sent to. */
export async function takeReport(tx: TenantTransaction, domain: string, report: MailReport): Promise<void> {
  const mail = await findSent(tx, domain, report.about);
  if (mail === undefined) return;
  const { isNew } = await suppressAddress(tx, mail.sender, `${report.kind}: ${report.detail}`);
  if (!isNew || report.kind === 'complaint') return;
  await appendEvent(tx, {
    type: 'email.send_failed',
    smithId: mail.smith_id,
    actor: mail.smith_id === null ? null : { kind: 'smith', id: mail.smith_id, token_id: '', email: '' },
    data: { channel_id: mail.deployment_id, to: mail.sender, detail: report.detail },
  });
}

async function findSent(tx: TenantTransaction, domain: string, messageId: string): Promise<SentMail | undefined> {
  const answerId = readOwnId(domain, messageId)?.answerId;
  if (answerId === undefined) return undefined;
  const { rows } = await tx.raw<SentMail>({
    text: `
      select c.deployment_id, c.smith_id, c.sender
      from channel_parts p
      join channel_answers a on a.project_id = p.project_id and a.id = p.answer_id
      join channel_chats c on c.project_id = a.project_id and c.id = a.chat_id
      where p.project_id = $1 and p.answer_id = $2 and p.provider_message_id = $3`,
    values: [answerId, messageId],
  });
  return rows[0];
}
