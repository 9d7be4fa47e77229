/** Messages through a mail server (RFC 5321), one connection each: they are few. */
import type { Options } from 'nodemailer/lib/smtp-transport';
import { mintId } from '../../kernel/ids/ids.ts';
import { type Mailer, messageIdOf } from './mailer.ts';

/** The caller of an operation waits for it. */
const ANSWER_TIMEOUT_MS = 10_000;

/**
 * `url`: `smtp://user:password@host:587` (STARTTLS) or `smtps://…:465`, names and passwords percent-encoded. Without TLS
 * nothing is sent, for the messages hold secrets; a server on this machine is exempt, and one whose URL ends with
 * `?tls=optional`. `from`: the sender's address.
 */
export function createSmtpMailer(url: string, from: string): Mailer {
  const options = optionsOf(url);
  let transport: ReturnType<typeof openTransport> | undefined;
  return {
    async send({ id = mintId('msg'), to, subject, text }) {
      transport ??= openTransport(options);
      const messageId = messageIdOf(id, from);
      await (await transport).sendMail({ messageId, from, to: { name: '', address: to }, subject, text });
    },
  };
}

/** Whether the server takes the login; nothing is sent. Throws the obstacle. */
export async function tryMailServer(url: string): Promise<void> {
  const transport = await openTransport(optionsOf(url));
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

function optionsOf(url: string): Options {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url);
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && !isLoopback(host) && searchParams.get('tls') !== 'optional',
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: ANSWER_TIMEOUT_MS,
    greetingTimeout: ANSWER_TIMEOUT_MS,
    socketTimeout: ANSWER_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Loaded for the first message: most processes send none. */
async function openTransport(options: Options) {
  const { createTransport } = await import('nodemailer');
  return createTransport(options);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}
