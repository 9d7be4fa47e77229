/**
 * A conversation is one thread of mails at one mailbox. Whoever answers names the mail that it answers, and ours have the thread in
 * their id: nothing has to be looked up, and a client that names the last mail alone is understood too.
 */
import { createHash } from 'node:crypto';

const THREAD_CHARS = 24;
const OURS = /^<ic\.([0-9a-f]{24})\.([0-9a-z_]{1,64})\.(\d{1,9})\.(\d{1,9})@([^<>@\s]+)>$/;

/** What an answer needs of the mail that it answers. */
export interface MailReply {
  readonly messageId: string;
  readonly references: readonly string[];
  readonly subject: string;
}

/** Of a mail with these references, oldest first. */
export function threadOf(
  domain: string,
  { messageId, references }: Pick<MailReply, 'messageId' | 'references'>,
): string {
  for (const id of references.toReversed()) {
    const own = readOwnId(domain, id);
    if (own !== undefined) return own.thread;
  }
  return createHash('sha256')
    .update(references[0] ?? messageId)
    .digest('hex')
    .slice(0, THREAD_CHARS);
}

/** Whether it goes on with what this server has written. */
export function isContinued(domain: string, references: readonly string[]): boolean {
  return references.some((id) => readOwnId(domain, id) !== undefined);
}

/** What an id of ours says; undefined for any other. */
export function readOwnId(
  domain: string,
  messageId: string,
): { readonly thread: string; readonly answerId: string } | undefined {
  const [, thread = '', answerId = '', , , of] = OURS.exec(messageId) ?? [];
  return of === domain ? { thread, answerId } : undefined;
}

/** Unique within the domain. */
export function chatOf(handle: string, thread: string): string {
  return `${handle}/${thread}`;
}

export function placeOf(chat: string): { readonly handle: string; readonly thread: string } {
  const at = chat.lastIndexOf('/');
  return { handle: chat.slice(0, at), thread: chat.slice(at + 1) };
}

/** Of one part, however often it is sent. `key`: of the part, `<answer>.<segments>.<number>`. */
export function messageIdOf(domain: string, thread: string, key: string): string {
  return `<ic.${thread}.${key}@${domain}>`;
}
