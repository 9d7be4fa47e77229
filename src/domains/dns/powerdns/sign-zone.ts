/**
 * Signs zones with one key each for everything (CSK), ECDSA P-256 with SHA-256 (RFC 8624 3.1), and NSEC: what RFC 9276
 * calls for where names are no secret. PowerDNS signs answers as it gives them; signatures renew themselves.
 */
import type { DsRecord } from '../../registry/registry.ts';
import type { PowerDnsClient } from './power-dns-client.ts';
import { readKeys, readZone, type ServedKey, zonePath } from './zone-api.ts';

const newKey = { keytype: 'csk', active: true, published: true, algorithm: 'ECDSAP256SHA256', bits: 256 };

/** The only digest that validators must know and that may still be published (RFC 8624 3.3). */
const SHA_256 = 2;

/** The zone's DS records, by SHA-256. A zone that has a signing key gets no other. */
export async function signZone(client: PowerDnsClient, zoneName: string): Promise<DsRecord[]> {
  const hasKey = async () => signingKeys(await getKeys(client, zoneName)).length > 0;
  if (!(await hasKey())) {
    // A second key would do no harm but would never be removed: after an attempt without an answer the keys are read first.
    await client.write('POST', `${zonePath(zoneName)}/cryptokeys`, newKey, { isDone: hasKey });
  }
  await touchZone(client, zoneName);
  const dsRecords = signingKeys(await getKeys(client, zoneName)).flatMap(digestsOf);
  if (dsRecords.length === 0) throw new Error(`PowerDNS gives no SHA-256 digest for the keys of ${zoneName}`);
  return dsRecords.sort((a, b) => a.keyTag - b.keyTag);
}

/** DS records, by SHA-256, of the keys whose DS records are not among the `known`: a new one where there is none. */
export async function addKey(
  client: PowerDnsClient,
  zoneName: string,
  known: readonly DsRecord[],
): Promise<DsRecord[]> {
  const readNew = async () =>
    signingKeys(await getKeys(client, zoneName))
      .flatMap(digestsOf)
      .filter((record) => !isAmong(record, known));
  if ((await readNew()).length === 0) {
    const isDone = async () => (await readNew()).length > 0;
    await client.write('POST', `${zonePath(zoneName)}/cryptokeys`, newKey, { isDone });
    await touchZone(client, zoneName);
  }
  const added = await readNew();
  if (added.length === 0) throw new Error(`PowerDNS shows no new key of ${zoneName}`);
  return added.sort((a, b) => a.keyTag - b.keyTag);
}

/** Throws where none of the zone's keys would be left. */
export async function retireKeys(client: PowerDnsClient, zoneName: string, kept: readonly DsRecord[]): Promise<void> {
  const keys = await getKeys(client, zoneName);
  const isKept = (key: ServedKey) => digestsOf(key).some((record) => isAmong(record, kept));
  if (!signingKeys(keys).some(isKept))
    throw new Error(`PowerDNS does not sign ${zoneName} with the key that is to stay`);
  const retired = keys.filter((key) => !isKept(key));
  for (const { id } of retired) {
    await client.write('DELETE', `${zonePath(zoneName)}/cryptokeys/${id}`, undefined, { mayBeAbsent: true });
  }
  if (retired.length > 0) await touchZone(client, zoneName);
}

function digestsOf({ dnskey, ds = [] }: ServedKey): DsRecord[] {
  return ds.map((text) => withKey(parseDs(text), dnskey)).filter(({ digestType }) => digestType === SHA_256);
}

function isAmong({ digest, keyTag }: DsRecord, records: readonly DsRecord[]): boolean {
  return records.some((record) => record.keyTag === keyTag && record.digest.toUpperCase() === digest);
}

/** Drops all keys. A zone that is not there is no error. */
export async function unsignZone(client: PowerDnsClient, zoneName: string): Promise<void> {
  await client.write('PUT', zonePath(zoneName), { dnssec: false }, { mayBeAbsent: true });
  const keys = await readKeys(client, zoneName);
  if (keys === undefined) return;
  if (keys.some(({ active }) => active)) throw new Error(`PowerDNS still signs ${zoneName} with a key of its own`);
  await touchZone(client, zoneName);
}

/**
 * Replaces the SOA by itself. A new or lost key leaves PowerDNS' cache of answers as it is, for 20 seconds as a rule, while
 * a change of records empties it for the zone: a validator that follows the new DS must not get an old answer. It also
 * rectifies the zone (`api_rectify`), which the proofs that a name is not there need.
 */
async function touchZone(client: PowerDnsClient, zoneName: string): Promise<void> {
  const zone = await readZone(client, zoneName);
  const soa = zone?.recordSets.find(({ type }) => type === 'SOA');
  if (soa === undefined) throw new Error(`PowerDNS has no SOA record of ${zoneName}: publish the zone first`);
  const { name, type, ttl, records } = soa;
  await client.write('PATCH', zonePath(zoneName), { rrsets: [{ name, type, ttl, records, changetype: 'REPLACE' }] });
}

async function getKeys(client: PowerDnsClient, zoneName: string): Promise<ServedKey[]> {
  const keys = await readKeys(client, zoneName);
  if (keys === undefined) throw new Error(`PowerDNS has no zone ${zoneName}: publish it before it is signed`);
  return keys;
}

/** Those that validators start from: active, in the zone, and with digests. */
function signingKeys(keys: readonly ServedKey[]): ServedKey[] {
  return keys.filter(({ active, published, ds }) => active && published !== false && ds !== undefined && ds.length > 0);
}

/** `<key tag> <algorithm> <digest type> <hex>`, RFC 4034 5.3. */
function parseDs(text: string): DsRecord {
  const [keyTag = '', algorithm = '', digestType = '', ...hex] = text.trim().split(/\s+/);
  const digest = hex.join('').toUpperCase();
  const numbers = [keyTag, algorithm, digestType];
  if (!numbers.every((number) => /^\d{1,5}$/.test(number)) || !/^(?:[0-9A-F]{2})+$/.test(digest)) {
    throw new Error(`PowerDNS gave a DS record that is none: ${text.slice(0, 200)}`);
  }
  return { keyTag: Number(keyTag), algorithm: Number(algorithm), digestType: Number(digestType), digest };
}

/** For registries that take keys; without it where PowerDNS does not say it. */
function withKey(record: DsRecord, dnskey = ''): DsRecord {
  const [flags = '', , , ...publicKey] = dnskey.trim().split(/\s+/);
  return publicKey.length === 0 ? record : { ...record, key: { flags: Number(flags), publicKey: publicKey.join('') } };
}
