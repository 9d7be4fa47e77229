/** A project's own mail server, reached under the guard: an address that it resolves to is checked, then connected to. */
import type { Socket } from 'node:net';
import type { Transporter } from 'nodemailer';
import type { Options, SentMessageInfo } from 'nodemailer/lib/smtp-transport';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { SmtpAccess } from './smtp-url.ts';

export type SmtpTransport = Transporter<SentMessageInfo>;

const STEP_TIMEOUT_MS = 20_000;

/** One connection, closed at the end whatever becomes of it. Throws what nodemailer does, and `OutboundError`. */
export async function useSmtp<T>(
  outbound: Pick<Outbound, 'openSocket'>,
  access: SmtpAccess,
  signal: AbortSignal,
  use: (transport: SmtpTransport) => Promise<T>,
): Promise<T> {
  const socket = await outbound.openSocket(access.host, access.port, 'public');
  const abort = () => socket.destroy(new Error('the mail server did not answer in time'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await use(await openTransport(access, socket));
  } finally {
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}

/** Loaded for the first message: most processes send none. */
async function openTransport({ auth, ...access }: SmtpAccess, socket: Socket): Promise<SmtpTransport> {
  const { createTransport } = await import('nodemailer');
  const options: Options = {
    ...access,
    ...(auth === undefined ? {} : { auth }),
    getSocket: (_options, callback) => callback(null, { connection: socket }),
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  return createTransport(options);
}
