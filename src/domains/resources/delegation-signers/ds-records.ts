/** DS records as callers write them, and as they are shown. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { isDigestOfKey } from '../../registry/dns-key.ts';
import type { DsRecord } from '../../registry/registry.ts';
import type { DsRecordShown } from './schema.ts';

/** Hex digits of a digest, by its type. SHA-1 and GOST are not to be used any more (RFC 8624 3.3). */
const DIGEST_LENGTHS: ReadonlyMap<number, number> = new Map([
  [2, 64],
  [4, 96],
]);
/** Those that validators are to know and signers may use (RFC 8624 3.1). */
const ALGORITHMS: readonly number[] = [8, 10, 13, 14, 15, 16];

/** Of a key that DS records stand for, as a rule (RFC 4034 2.1.1). */
const SECURE_ENTRY_POINT = 257;

/** Of that name, each once. Throws `bad_request` for one that resolvers would not validate by. */
export function readDsRecords(name: string, given: readonly DsRecordShown[]): DsRecord[] {
  const read = given.map((shown, index) => {
    const { key_tag: keyTag, algorithm, digest_type: digestType, digest, flags, public_key: publicKey } = shown;
    const refuse = (member: string, message: string) => {
      const param = `ds_records.${index}.${member}`;
      return new ApiError('bad_request', { param, message: `\`${param}\` ${message}` });
    };
    if (!ALGORITHMS.includes(algorithm)) throw refuse('algorithm', `must be one of ${ALGORITHMS.join(', ')}.`);
    const length = DIGEST_LENGTHS.get(digestType);
    if (length === undefined) throw refuse('digest_type', 'must be 2 (SHA-256) or 4 (SHA-384).');
    const hex = digest.replaceAll(/\s/g, '').toUpperCase();
    if (!/^[0-9A-F]+$/.test(hex) || hex.length !== length) throw refuse('digest', `must have ${length} hex digits.`);
    const record = { keyTag, algorithm, digestType, digest: hex };
    if (publicKey === undefined && flags !== undefined) throw refuse('flags', 'goes with `public_key` alone.');
    if (publicKey === undefined) return record;
    const withKey = {
      ...record,
      key: { flags: flags ?? SECURE_ENTRY_POINT, publicKey: publicKey.replaceAll(/\s/g, '') },
    };
    if (isDigestOfKey(name, withKey)) return withKey;
    throw refuse('public_key', `is not the key that the other members are of. Send the DNSKEY of ${name} in base64.`);
  });
  return [...new Map(read.map((record) => [JSON.stringify(record), record])).values()];
}

export function showDsRecords(records: readonly DsRecord[]): DsRecordShown[] {
  return records.map(({ keyTag, algorithm, digestType, digest, key }) => ({
    key_tag: keyTag,
    algorithm,
    digest_type: digestType,
    digest,
    ...(key === undefined ? {} : { flags: key.flags, public_key: key.publicKey }),
  }));
}
