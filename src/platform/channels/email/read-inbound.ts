/** A mail that was read, as a message to one mailbox. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../tables.ts';
import type { InboundAttachment, InboundMessage } from '../channel.ts';
import { handleOf } from './address.ts';
import { chatOf, isContinued, type MailReply, threadOf } from './conversation.ts';
import type { Mailbox } from './mailbox-store.ts';
import type { ReadMail } from './read-mail/protocol.ts';
import { withoutQuote } from './without-quote.ts';

const MAX_NOTED_CHARS = 20_000;

export type MailFate = { readonly type: string; readonly fate: InboundMessage['fate'] };

/** What becomes of it at the mailbox; undefined: nobody has the address. */
export function fateOf(mail: ReadMail, mailbox: Mailbox | undefined): MailFate {
  if (mail.report !== undefined) return { type: mail.report.kind, fate: 'noted' };
  if (mail.automatic !== undefined) return { type: 'automatic', fate: 'noted' };
  if (mail.authentication.result !== 'pass' || mail.from === '') return { type: 'unauthenticated', fate: 'noted' };
  return { type: 'message', fate: mailbox === undefined || !isObeyed(mail, mailbox) ? 'unbound' : undefined };
}

/** A signed mail of the owner's to somebody else can be sent here by whoever got it: an owner's mailbox is named in the mail. */
function isObeyed({ from, to }: ReadMail, { smith_id, owner_email, address }: Mailbox): boolean {
  if (smith_id === null || owner_email === null) return true;
  return from === owner_email && to.includes(address);
}

export function readInbound(
  domain: string,
  mail: ReadMail,
  {
    mailbox,
    fate,
    attachments,
  }: {
    readonly mailbox: Mailbox | undefined;
    readonly fate: MailFate;
    readonly attachments: readonly InboundAttachment[];
  },
): InboundMessage {
  const { from, subject, messageId, references } = mail;
  const handle = handleOf(mailbox?.address ?? '');
  const reply: MailReply = { messageId, references, subject };
  return {
    idempotencyKey: keyOf(mail, mailbox),
    ...{ ...fate, attachments, sender: from },
    chat: chatOf(handle, threadOf(domain, mail)),
    subject: `${from === '' ? 'Somebody' : from} wrote to ${mailbox?.address ?? domain}`,
    text: textOf(domain, mail),
    reply: JSON.stringify(reply),
    deploymentId: mailbox?.id,
    data: dataOf(mail),
  };
}

/** What nobody has signed never stands for what somebody has: it would keep the other one out. */
function keyOf(mail: ReadMail, mailbox: Mailbox | undefined): string {
  const { authentication, from, messageId, date, subject, text } = mail;
  const named = messageId === '' ? [date, subject, text] : [messageId];
  const parts = JSON.stringify([authentication.result, from, mailbox?.id ?? '', ...named]);
  return createHash('sha256').update(parts).digest('hex');
}

/** A conversation begins with its subject; what is answered is in the thread already. */
function textOf(domain: string, { text, subject, references }: ReadMail): string {
  if (isContinued(domain, references)) return withoutQuote(text);
  if (subject === '' || /^\/(?:new|stop)$/i.test(text.trim())) return text;
  return text === '' ? subject : `${subject}\n\n${text}`;
}

function dataOf({ files, text, report, automatic, ...mail }: ReadMail): JsonObject {
  return {
    ...{ from: mail.from, to: mail.to, subject: mail.subject, date: mail.date, message_id: mail.messageId },
    references: mail.references,
    text: text.slice(0, MAX_NOTED_CHARS),
    attachments: files.map(({ filename, mediaType, content }) => ({
      filename,
      media_type: mediaType,
      bytes: content.length,
    })),
    authentication: { ...mail.authentication },
    ...(automatic !== undefined && { automatic }),
    ...(report !== undefined && { report: { ...report } }),
  };
}
