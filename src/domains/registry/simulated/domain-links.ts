/** The objects that a name points to: they must be there, and stay while the command runs. */
import { isIP } from 'node:net';
import type { DsRecord } from '../registry.ts';
import { type CommandContext, readHostName } from './command-context.ts';
import type { DomainContact, SetChange } from './registry-core.ts';
import { Refusal } from './replies.ts';

const MAX_NAMESERVERS = 13;
const MAX_DS_RECORDS = 13;

/** Hex digits of a digest by its type (RFC 4034, 4509, 6605); of other types any even number is taken. */
const digestLengths: Readonly<Record<number, number>> = { 1: 40, 2: 64, 4: 96 };

/** In lower case, each once, sorted. 2303 for one that is no host object. */
export async function requireHosts(context: CommandContext, names: readonly string[]): Promise<string[]> {
  const wanted = [...new Set(names.map(readHostName))].sort();
  if (wanted.length > MAX_NAMESERVERS) {
    throw new Refusal(2306, `a name has at most ${MAX_NAMESERVERS} nameservers`, 'hostObj');
  }
  if (wanted.length === 0) return wanted;
  const hosts = context.db.selectFrom('registry_hosts').select('name').where('name', 'in', wanted).orderBy('name');
  const found = new Set((await hosts.forKeyShare().execute()).map(({ name }) => name));
  const missing = wanted.find((name) => !found.has(name));
  if (missing !== undefined) throw new Refusal(2303, `there is no host object ${missing}`, 'hostObj');
  return wanted;
}

/** 2303 for one that is not there, 2201 for another registrar's. */
export async function requireContacts(context: CommandContext, ids: readonly string[]): Promise<void> {
  const wanted = [...new Set(ids)];
  if (wanted.length === 0) return;
  const rows = context.db.selectFrom('registry_contacts').select(['id', 'sponsor']).where('id', 'in', wanted);
  const found = new Map((await rows.orderBy('id').forKeyShare().execute()).map(({ id, sponsor }) => [id, sponsor]));
  for (const id of wanted) {
    const sponsor = found.get(id);
    if (sponsor === undefined) throw new Refusal(2303, `there is no contact ${id}`, 'contact');
    if (sponsor !== context.session.registrarId)
      throw new Refusal(2201, `the contact ${id} belongs to another registrar`);
  }
}

export function uniqueContacts(contacts: readonly DomainContact[]): DomainContact[] {
  return [...new Map(contacts.map((contact) => [keyOfContact(contact), contact])).values()];
}

export function keyOfContact({ type, id }: DomainContact): string {
  return `${type} ${id}`;
}

/** Digests in upper case, each record once. 2306 for what RFC 4034 5 does not allow. */
export function readDsRecords(records: readonly DsRecord[]): DsRecord[] {
  const unique = new Map<string, DsRecord>();
  for (const record of records) {
    const { algorithm, digestType, key, keyTag } = record;
    const digest = record.digest.replaceAll(/\s/g, '').toUpperCase();
    const length = digestLengths[digestType] ?? digest.length;
    const isDigest = /^(?:[0-9A-F]{2})+$/.test(digest) && digest.length === length;
    if (!isDigest || !isWithin(keyTag, 65_535) || !isWithin(algorithm, 255) || !isWithin(digestType, 255)) {
      throw new Refusal(
        2306,
        'a DS record has a key tag, an algorithm, a digest type and a digest of its length',
        'dsData',
      );
    }
    const read = { keyTag, algorithm, digestType, digest, ...(key === undefined ? {} : { key }) };
    unique.set(keyOfDsRecord(read), read);
  }
  if (unique.size > MAX_DS_RECORDS)
    throw new Refusal(2306, `a name has at most ${MAX_DS_RECORDS} DS records`, 'dsData');
  return [...unique.values()];
}

function isWithin(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}

export function keyOfDsRecord({ algorithm, digest, digestType, keyTag }: DsRecord): string {
  return `${keyTag} ${algorithm} ${digestType} ${digest.toUpperCase()}`;
}

/** The items after the change: removed first, then added. */
export function applyChange<Item>(
  items: readonly Item[],
  change: SetChange<Item>,
  keyOf: (item: Item) => string,
): readonly Item[] {
  if ('set' in change) return change.set;
  const removed = new Set((change.remove ?? []).map(keyOf));
  return [...items.filter((item) => !removed.has(keyOf(item))), ...(change.add ?? [])];
}

/** RFC 5730 4.2 lets a registry choose; this one takes 6 to 64 printable characters. */
export function requireAuthInfo(authInfo: string): void {
  if (/^[\x21-\x7e]{6,64}$/.test(authInfo)) return;
  throw new Refusal(2306, 'an auth code has 6 to 64 printable ASCII characters and no space', 'authInfo');
}

export function requireAddresses(addresses: readonly string[]): string[] {
  const wrong = addresses.find((address) => isIP(address) === 0);
  if (wrong !== undefined) throw new Refusal(2005, `${wrong} is no IP address`, 'addr');
  return [...new Set(addresses.map((address) => address.toLowerCase()))].sort();
}
