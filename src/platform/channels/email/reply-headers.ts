import type { MailReply } from './conversation.ts';

const MAX_REFERENCES = 20;
const MAX_SUBJECT_CHARS = 200;
const REPLY = /^(?:re|aw|sv|antw|odp|rif|tr)\s*(?:\[\d+\])?\s*[:：]/i;

/** What ties an answer to the mail that it answers (RFC 5322, 3.6.4). */
export function replyHeaders(reply: MailReply | undefined): {
  readonly subject: string;
  readonly inReplyTo?: string;
  readonly references?: string[];
} {
  if (reply === undefined) return { subject: 'Re: your message' };
  const { messageId, references, subject } = reply;
  const short = subject.slice(0, MAX_SUBJECT_CHARS).toWellFormed();
  const answered = REPLY.test(short) ? short : `Re: ${short === '' ? 'your message' : short}`;
  if (messageId === '') return { subject: answered };
  const [first] = references;
  const rest = references.slice(1).slice(-MAX_REFERENCES);
  return {
    subject: answered,
    inReplyTo: messageId,
    references: [...(first === undefined ? [] : [first]), ...rest, messageId],
  };
}
