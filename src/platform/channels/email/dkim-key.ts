/** The key that signs a domain's mail, and the records of the DNS that say so. */
import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';

const DEFAULT_SELECTOR = 'ironcraft';
const MADE_BITS = 2_048;
const MIN_BITS = 1_024;

export interface DkimKey {
  readonly selector: string;
  /** PEM. */
  readonly privateKey: string;
  /** As the record has it. */
  readonly publicKey: string;
}

export interface DnsRecord {
  readonly type: 'TXT' | 'MX';
  readonly name: string;
  readonly value: string;
}

export async function makeDkimKey(): Promise<DkimKey> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: MADE_BITS,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return readDkimKey(DEFAULT_SELECTOR, privateKey);
}

/** Throws a TypeError that says what to send, and holds nothing of the key. */
export function readDkimKey(selector: string, privateKey: string): DkimKey {
  let key: ReturnType<typeof createPrivateKey>;
  try {
    key = createPrivateKey(privateKey);
  } catch {
    throw new TypeError('it is no private key in PEM, without a passphrase');
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < MIN_BITS) {
    throw new TypeError(`it is no RSA key of at least ${MIN_BITS} bits`);
  }
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
  return { selector, privateKey, publicKey };
}

export function dnsRecords(
  domain: string,
  { selector, publicKey }: Pick<DkimKey, 'selector' | 'publicKey'>,
): DnsRecord[] {
  return [
    { type: 'TXT', name: `${selector}._domainkey.${domain}`, value: `v=DKIM1; k=rsa; p=${publicKey}` },
    { type: 'TXT', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=quarantine' },
  ];
}
