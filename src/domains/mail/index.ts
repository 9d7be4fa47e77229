/** E-mail to the people behind workspaces. */
import { createFileOutbox } from './file-outbox.ts';
import type { Mailer } from './mailer.ts';
import { createSmtpMailer, tryMailServer } from './smtp-mailer.ts';

export type { Mailer, Message } from './mailer.ts';
export { createFileOutbox, createSmtpMailer, tryMailServer };

/** The mail server that is configured; without one, the folder. */
export function openMailer({
  mailUrl,
  mailFrom,
  folder,
}: {
  readonly mailUrl: string | undefined;
  readonly mailFrom: string;
  readonly folder: string;
}): Mailer {
  return mailUrl === undefined ? createFileOutbox(folder, mailFrom) : createSmtpMailer(mailUrl, mailFrom);
}
