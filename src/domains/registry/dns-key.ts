/** DS records as they follow from the keys that they stand for (RFC 4034 5.1.4 and appendix B). */
import { createHash } from 'node:crypto';
import type { DnsKey, DsRecord } from './registry.ts';

/** DNSKEY has no other (RFC 4034 2.1.2). */
const PROTOCOL = 3;

/** By digest type (RFC 4509, RFC 6605). */
const HASHES: ReadonlyMap<number, string> = new Map([
  [2, 'sha256'],
  [4, 'sha384'],
]);

/** The DS record of a name's key, with the key. `digestType`: 2 (SHA-256) or 4 (SHA-384). Throws for another. */
export function dsRecordOf(name: string, algorithm: number, key: DnsKey, digestType = 2): DsRecord {
  const hash = HASHES.get(digestType);
  if (hash === undefined) throw new Error(`there are no digests of type ${digestType}`);
  const data = keyData(algorithm, key);
  const digest = createHash(hash).update(wireName(name)).update(data).digest('hex').toUpperCase();
  return { keyTag: keyTagOf(data), algorithm, digestType, digest, key };
}

/** Whether it is the digest of the key that it comes with. */
export function isDigestOfKey(name: string, record: DsRecord): boolean {
  if (record.key === undefined || !HASHES.has(record.digestType)) return false;
  const { keyTag, digest } = dsRecordOf(name, record.algorithm, record.key, record.digestType);
  return keyTag === record.keyTag && digest === record.digest.toUpperCase();
}

function keyData(algorithm: number, { flags, publicKey }: DnsKey): Buffer {
  const head = Buffer.from([flags >> 8, flags & 0xff, PROTOCOL, algorithm]);
  return Buffer.concat([head, Buffer.from(publicKey, 'base64')]);
}

/** RFC 4034 appendix B; algorithm 1, which has another rule, is no longer in use. */
function keyTagOf(data: Buffer): number {
  const sum = data.reduce((total, byte, index) => total + (index % 2 === 0 ? byte << 8 : byte), 0);
  return (sum + ((sum >> 16) & 0xffff)) & 0xffff;
}

/** RFC 4034 6.2: lower case, and never compressed. */
function wireName(name: string): Buffer {
  const labels = name.toLowerCase().split('.');
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]),
    Buffer.from([0]),
  ]);
}
