/** Where tests have mail: a server that takes it, a nameserver, and people whose domains sign what they write. */
import { generateKeyPairSync } from 'node:crypto';
import { dkimSign } from 'mailauth';
import { type FakeNameserver, startNameserver } from './nameserver.ts';
import { type ReceivedMessage, type SmtpServer, startSmtpServer } from './smtp-server.ts';

export interface WrittenMail {
  readonly from: string;
  readonly to: string;
  readonly subject?: string;
  readonly text?: string;
  /** In place of the header and body that `text` makes: from `Content-Type` on. */
  readonly content?: string;
  readonly messageId?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whose key signs it; the domain of `from` by default, null for nobody's. */
  readonly signedBy?: string | null;
}

export interface MailWorld {
  readonly dns: FakeNameserver;
  readonly smtp: SmtpServer;
  /** A domain that is nobody's yet. */
  newDomain(): string;
  /** Of `PUT /v1/tenant/email`, for this domain or a new one; with a key, as making one takes time. */
  bodyOf(domain?: string): {
    readonly domain: string;
    readonly smtp_url: string;
    readonly inbound_secret: string;
    readonly dkim: { readonly selector: string; readonly private_key: string };
  };
  write(mail: WrittenMail): Promise<Buffer>;
  /** What was sent to this address, oldest first. */
  sentTo(address: string): readonly ReceivedMessage[];
  close(): Promise<void>;
}

export const INBOUND_SECRET = 'a long text of our own';
const SELECTOR = 'test';
let made = 0;

let keys: ReturnType<typeof makeKeys> | undefined;

/** Once for the process. */
function makeKeys() {
  return generateKeyPairSync('rsa', {
    modulusLength: 1_024,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

export async function startMailWorld(): Promise<MailWorld> {
  const dns = await startNameserver();
  const smtp = await startSmtpServer();
  keys ??= makeKeys();
  const { privateKey, publicKey } = keys;
  const nextNumber = () => {
    made += 1;
    return made;
  };
  return {
    dns,
    smtp,
    newDomain: () => `mail${nextNumber()}.agents.example`,
    bodyOf: (domain = `mail${nextNumber()}.agents.example`) => ({
      domain,
      smtp_url: `smtp://us:sesame@example.com:${smtp.port}?tls=optional`,
      inbound_secret: INBOUND_SECRET,
      dkim: { selector: 'ironcraft', private_key: privateKey },
    }),
    async write({ from, to, subject = 'A question', text = 'Hello', content, messageId, headers = {}, signedBy }) {
      const domain = from.slice(from.lastIndexOf('@') + 1).replace('>', '');
      const signer = signedBy === undefined ? domain : signedBy;
      const head = {
        From: from,
        To: to,
        Subject: subject,
        Date: 'Mon, 23 Nov 2026 12:00:00 +0000',
        'Message-ID': messageId ?? `<m${nextNumber()}@${domain}>`,
        'MIME-Version': '1.0',
        ...headers,
      };
      const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
      const body = content ?? `Content-Type: text/plain; charset=utf-8\r\n\r\n${text}\r\n`;
      const raw = Buffer.from(lines.join('') + body);
      if (signer === null) return raw;
      dns.texts.set(`${SELECTOR}._domainkey.${signer}`, `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`);
      const signature = { signingDomain: signer, selector: SELECTOR, privateKey };
      const { signatures } = await dkimSign(raw, { ...signature, signatureData: [signature] });
      return Buffer.concat([Buffer.from(signatures), raw]);
    },
    sentTo: (address) => smtp.messages.filter(({ to }) => to.includes(address)),
    async close() {
      await smtp.close();
      await dns.close();
    },
  };
}
