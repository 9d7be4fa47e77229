/** One mail to a person. */
import type { Readable } from 'node:stream';
import type { Options } from 'nodemailer/lib/mailer';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import { type AnswerFile, type Destination, type MessagePart, SendFailure, type SendOptions } from '../channel.ts';
import { dkimKeyOf } from './account.ts';
import { type MailReply, messageIdOf, placeOf } from './conversation.ts';
import { escapeHtml } from './mail-html.ts';
import { replyHeaders } from './reply-headers.ts';
import { useSmtp } from './smtp.ts';
import { refusalOf } from './smtp-refusal.ts';
import { readSmtpUrl } from './smtp-url.ts';

/** Of all files of a mail: as base64 they are a third more, and few servers take 25 MB. */
const MAX_FILES_BYTES = 17 * 1024 * 1024;

type MailPart = Extract<MessagePart, { readonly type: 'text' }>;

/** Answers its `Message-ID`, which is the same however often the part is sent. Throws `SendFailure`. */
export async function sendMail(
  outbound: Pick<Outbound, 'openSocket'>,
  to: Destination,
  part: MessagePart,
  options: SendOptions & { readonly displayName: string | null },
): Promise<string> {
  if (part.type !== 'text') throw new SendFailure('refused', 'A mail takes its files along.');
  const { accountId: domain, secrets } = to.account;
  const { handle, thread } = placeOf(to.chat);
  const mailbox = `${handle}@${domain}`;
  const messageId = messageIdOf(domain, thread, part.key ?? '');
  const { attachments, leftOut } = await takeFiles(part.files ?? [], options);
  const { selector, privateKey } = dkimKeyOf(to.account);
  const mail: Options = {
    from: { name: options.displayName ?? '', address: mailbox },
    to: { name: '', address: to.sender },
    envelope: { from: mailbox, to: to.sender },
    messageId,
    ...replyHeaders(to.reply === undefined ? undefined : (JSON.parse(to.reply) as MailReply)),
    // Whoever else answers by itself is asked not to (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-replied', 'X-Auto-Response-Suppress': 'All' },
    ...contentOf(part, leftOut),
    attachments,
    dkim: { domainName: domain, keySelector: selector, privateKey },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  try {
    await useSmtp(outbound, readSmtpUrl(secrets.smtp_url ?? ''), options.signal, (smtp) => smtp.sendMail(mail));
    return messageId;
  } catch (error) {
    if (error instanceof OutboundError) throw new SendFailure('unavailable', `The mail server: ${error.message}.`);
    throw refusalOf(error);
  }
}

function contentOf(
  { text, plain }: MailPart,
  leftOut: readonly string[],
): { readonly text: string; readonly html: string } {
  if (leftOut.length === 0) return { text: plain, html: text };
  const notes = leftOut.map((name) => `${name} is too large to be sent by mail.`).join('\n');
  return {
    text: `${plain}\n\n${notes}`,
    html: text.replace(/<\/div><\/body>/, () => `\n\n${escapeHtml(notes)}</div></body>`),
  };
}

/** In order, as far as a mail has room. */
async function takeFiles(
  files: readonly AnswerFile[],
  { openFile }: SendOptions,
): Promise<{ readonly attachments: NonNullable<Options['attachments']>; readonly leftOut: readonly string[] }> {
  const attachments: NonNullable<Options['attachments']> = [];
  const leftOut: string[] = [];
  let leftBytes = MAX_FILES_BYTES;
  for (const { fileId, filename, mediaType } of files) {
    const content = await readWithin(await openFile(fileId), leftBytes);
    if (content === undefined) leftOut.push(filename);
    else {
      leftBytes -= content.length;
      attachments.push({ filename, contentType: mediaType, content });
    }
  }
  return { attachments, leftOut };
}

/** Undefined: it is larger. */
async function readWithin(source: Readable, limitBytes: number): Promise<Buffer | undefined> {
  let bytes = 0;
  const pieces: Uint8Array[] = [];
  for await (const piece of source as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > limitBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
