/** What a zone serves: the records of its rows, as whole sets, and the SOA and NS of its own name. */

import type { Executor } from '../../kernel/db/database.ts';
import { findAliasAnswer } from './alias/alias-store.ts';
import type { RecordSet, ZoneContent } from './publisher.ts';
import { listRecords, type StoredRecord, type ZoneRef } from './zone-store.ts';

/** Seconds. Changes are rare and have to show soon. */
export const OWN_RECORDS_TTL = 3_600;
/** How long a resolver may remember that a name is not there (RFC 2308 4). */
const NEGATIVE_TTL = 300;

/** All that the zone serves now. */
export async function zoneContent(
  executor: Executor,
  zone: ZoneRef & { readonly serial: number },
  nameservers: readonly string[],
): Promise<ZoneContent> {
  const records = await listRecords(executor, zone);
  return {
    name: zone.name,
    serial: zone.serial,
    recordSets: [
      ...ownRecordSets(zone.name, zone.serial, nameservers),
      ...recordSetsOf(zone.name, await servedRecords(executor, zone, records)),
    ],
  };
}

export type OwnRecordSet = RecordSet & { readonly type: 'SOA' | 'NS' };

/** SOA and NS of the zone's own name. They are managed by the service and cannot be changed. */
export function ownRecordSets(zoneName: string, serial: number, nameservers: readonly string[]): OwnRecordSet[] {
  const primary = nameservers[0];
  if (primary === undefined) throw new Error('a zone needs at least one nameserver');
  // RFC 2142 7: hostmaster@ the domain of the nameservers reaches those who run them.
  const hostmaster = `hostmaster.${primary.slice(primary.indexOf('.') + 1)}`;
  const soa = `${primary}. ${hostmaster}. ${serial} 10800 3600 604800 ${NEGATIVE_TTL}`;
  return [
    { name: zoneName, type: 'SOA', ttl: OWN_RECORDS_TTL, values: [soa] },
    { name: zoneName, type: 'NS', ttl: OWN_RECORDS_TTL, values: nameservers.map((server) => `${server}.`).sort() },
  ];
}

export type ServedRecord = Pick<StoredRecord, 'subdomain' | 'type' | 'ttl' | 'value'>;

/** With the addresses of an ALIAS record in its place. */
export async function servedRecords(
  executor: Executor,
  zone: ZoneRef,
  records: readonly ServedRecord[],
): Promise<ServedRecord[]> {
  const alias = records.find(({ type }) => type === 'ALIAS');
  if (alias === undefined) return [...records];
  const answer = await findAliasAnswer(executor, zone);
  const ttl = Math.min(alias.ttl, answer?.ttl ?? alias.ttl);
  const { subdomain } = alias;
  const addresses = (answer?.addresses ?? []).map(({ type, value }) => ({ subdomain, type, ttl, value }));
  return records.flatMap((record) => (record === alias ? addresses : [record]));
}

/** Records of one name and type together, values sorted. All of a set have one TTL: see change-zone.ts. */
function recordSetsOf(zoneName: string, records: readonly ServedRecord[]): RecordSet[] {
  const sets = new Map<string, { name: string; type: string; ttl: number; values: string[] }>();
  for (const { subdomain, type, ttl, value } of records) {
    const key = `${subdomain} ${type}`;
    const set = sets.get(key) ?? { name: absoluteName(subdomain, zoneName), type, ttl, values: [] };
    set.values.push(value);
    sets.set(key, set);
  }
  for (const set of sets.values()) set.values.sort();
  return [...sets.values()];
}

/** `www` in `example.com` is `www.example.com`; `@` is the zone's own name. */
export function absoluteName(subdomain: string, zoneName: string): string {
  return subdomain === '@' ? zoneName : `${subdomain}.${zoneName}`;
}
