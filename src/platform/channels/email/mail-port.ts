/**
 * Mail by SMTP (RFC 5321), as the exchanger of the projects' domains: for mailboxes that are there alone, and nothing is handed on.
 * What the other server is told is what has become of the mail: taken, to be brought again, or never.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { SMTPServer, SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import type { Database } from '../../../kernel/db/database.ts';
import type { Worker } from '../../../kernel/http/service-lifecycle.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { openAccount } from '../accounts/open-account.ts';
import { domainOf, readAddress } from './address.ts';
import { findDomain } from './find-domain.ts';
import { MAX_MAIL_BYTES, UnreadableMailError } from './read-mail/mail-reader.ts';
import { hasMailbox, type ReceiveDependencies, receiveMail, UndecidedMailError } from './receive-mail.ts';

export interface MailPortSettings {
  readonly host: string;
  readonly port: number;
  /** Of PEM; absent: without STARTTLS. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
}

export interface MailPortDependencies extends ReceiveDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly logger: Logger;
}

/** Each may bring a mail of 25 MiB, which is held in memory. */
const MAX_CONNECTIONS = 20;
const MAX_RECIPIENTS = 20;
const IDLE_MS = 60_000;
const CLOSE_MS = 5_000;

const GONE = [550, 'There is no such mailbox here'] as const;
const LATER = [451, 'Try again later'] as const;
const TOO_LARGE = [552, `A mail has ${MAX_MAIL_BYTES} bytes at most`] as const;
const UNREADABLE = 554;

export function createMailPort(deps: MailPortDependencies, { host, port, tls }: MailPortSettings): Worker {
  let server: SMTPServer | undefined;

  async function checkRecipient(given: string): Promise<void> {
    const address = readAddress(given);
    if (address === undefined) throw refusal(...GONE);
    const row = await findDomain(deps.db, domainOf(address));
    if (row === undefined || !(await hasMailbox(deps.db, row.project_id, row.account_id, address)))
      throw refusal(...GONE);
  }

  async function take(stream: SMTPServerDataStream, { envelope }: SMTPServerSession): Promise<void> {
    const raw = await readAll(stream);
    // As every server notes it that delivers (RFC 5321, 4.4): of a report it is empty.
    const from = envelope.mailFrom === false || envelope.mailFrom.address === '' ? 'Return-Path: <>\r\n' : '';
    const mail = Buffer.concat([Buffer.from(from), raw]);
    const recipients = envelope.rcptTo.map(({ address }) => address.toLowerCase());
    for (const domain of new Set(recipients.map(domainOf))) {
      const row = await findDomain(deps.db, domain);
      if (row === undefined) continue;
      const account = openAccount(deps.vault, row.project_id, row);
      await receiveMail(
        deps,
        account,
        mail,
        recipients.filter((address) => domainOf(address) === domain),
      );
    }
  }

  function explain(error: unknown): Error {
    if (error instanceof Refusal) return error;
    if (error instanceof UnreadableMailError) return refusal(UNREADABLE, error.message);
    if (!(error instanceof UndecidedMailError)) deps.logger.error({ err: error }, 'a mail could not be taken');
    return refusal(...LATER);
  }

  const options: SMTPServerOptions = {
    banner: 'Ironcraft',
    // Nobody logs in, as nothing is handed on.
    disabledCommands: tls === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    authOptional: true,
    disableReverseLookup: true,
    size: MAX_MAIL_BYTES,
    maxClients: MAX_CONNECTIONS,
    maxRecipients: MAX_RECIPIENTS,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
    logger: false,
    onRcptTo: ({ address }, _session, callback) => {
      checkRecipient(address).then(
        () => callback(),
        (error: unknown) => callback(explain(error)),
      );
    },
    onData: (stream, session, callback) => {
      take(stream, session).then(
        () => callback(null, 'taken'),
        (error: unknown) => {
          stream.resume();
          callback(explain(error));
        },
      );
    },
  };

  return {
    async start() {
      const { SMTPServer: Server } = await import('smtp-server');
      const [cert, key] = tls === undefined ? [] : await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
      server = new Server({ ...options, ...(cert === undefined || key === undefined ? {} : { cert, key }) });
      // A connection that breaks off is its own affair.
      const listening = once(server.server, 'listening');
      server.on('error', (error: Error) => deps.logger.debug({ err: error }, 'an SMTP connection failed'));
      server.listen(port, host);
      await listening;
    },
    async stop() {
      const closing = server;
      server = undefined;
      if (closing !== undefined) await new Promise<void>((resolve) => closing.close(() => resolve()));
    },
  };
}

class Refusal extends Error {
  readonly responseCode: number;

  constructor(responseCode: number, message: string) {
    super(message);
    this.name = 'Refusal';
    this.responseCode = responseCode;
  }
}

function refusal(code: number, message: string): Refusal {
  return new Refusal(code, message);
}

/** All of it is read, whatever its size: the other server listens for an answer only then. */
async function readAll(stream: SMTPServerDataStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes <= MAX_MAIL_BYTES) pieces.push(piece);
  }
  if (bytes > MAX_MAIL_BYTES || stream.sizeExceeded) throw refusal(...TOO_LARGE);
  return Buffer.concat(pieces);
}
