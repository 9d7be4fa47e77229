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
        text: PLACE_OF_TEXT,
      });
      if (!Buffer.isBuffer(message)) throw new TypeError('the message was not composed as a whole');
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, `${id}.eml`);
      const partial = `${path}.partial`;
      await writeFile(partial, withText(message, text), { mode: 0o600, flush: true });
      await rename(partial, path);
    },
  };
}

/** Any short text: what is written for it is replaced. */
const PLACE_OF_TEXT = '-';

/**
 * The message with this text as it is, line by line (RFC 2045, `8bit`): people read the file, and copy links from it. Every encoding that
 * mail servers need would break lines or write letters as numbers.
 */
function withText(message: Buffer, text: string): string {
  const [head = ''] = message.toString('utf8').split('\r\n\r\n', 1);
  const plain = head.replace(/^Content-Transfer-Encoding: .*$/im, 'Content-Transfer-Encoding: 8bit');
  return `${plain}\r\n\r\n${text.replaceAll(/\r?\n/g, '\r\n')}`;
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
