/** Messages as files that any mail program opens: what the service does until it is given a mail server. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mintId } from '../../kernel/ids/ids.ts';
import { type Mailer, messageIdOf } from './mailer.ts';

/**
 * One `.eml` file (RFC 5322) a message, named so that they sort by time, for the owner of the process alone: they hold
 * secrets. A file of that name is whole, and one message is one file, however often it is sent; the folder is made when it is missing.
 */
export function createFileOutbox(folder: string, from = 'domains@localhost'): Mailer {
  let composer: ReturnType<typeof openComposer> | undefined;
  return {
    async send({ id = mintId('msg'), to, subject, text }) {
      composer ??= openComposer();
      const { message } = await (await composer).sendMail({
        messageId: messageIdOf(id, from),
        from,
        to: { name: '', address: to },
        subject,
        text,
      });
      if (!Buffer.isBuffer(message)) throw new TypeError('the message was not composed as a whole');
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, `${id}.eml`);
      const partial = `${path}.partial`;
      await writeFile(partial, message, { mode: 0o600, flush: true });
      await rename(partial, path);
    },
  };
}

/** Loaded for the first message: most processes send none. */
async function openComposer() {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    streamTransport: true,
    buffer: true,
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
