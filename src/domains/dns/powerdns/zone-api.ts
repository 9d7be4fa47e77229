/** The shapes of PowerDNS' answers that we read, checked as they arrive. Members that are not named here are ignored. */
import Type, { type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { ServedRecordSet } from './diff-record-sets.ts';
import type { PowerDnsClient } from './power-dns-client.ts';

const Zone = Type.Object({
  kind: Type.String(),
  soa_edit: Type.Optional(Type.String()),
  soa_edit_api: Type.Optional(Type.String()),
  api_rectify: Type.Optional(Type.Boolean()),
  rrsets: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.String(),
      ttl: Type.Integer(),
      records: Type.Array(Type.Object({ content: Type.String(), disabled: Type.Optional(Type.Boolean()) })),
    }),
  ),
});

const Keys = Type.Array(
  Type.Object({
    id: Type.Integer(),
    active: Type.Boolean(),
    published: Type.Optional(Type.Boolean()),
    /** `<flags> 3 <algorithm> <base64>`. */
    dnskey: Type.Optional(Type.String()),
    /** Digests of the key, `<tag> <algorithm> <digest type> <hex>`; absent for keys that sign no keys. */
    ds: Type.Optional(Type.Array(Type.String())),
  }),
);

export interface ServedZone {
  readonly settings: ZoneSettings;
  readonly recordSets: readonly ServedRecordSet[];
}

/** What PowerDNS does to a zone by itself. */
export interface ZoneSettings {
  /** How the API changes the serial of a zone that it changed; empty: not at all. */
  readonly soa_edit_api: string;
  /** How the serial is changed as it is served; empty: not at all. */
  readonly soa_edit: string;
  /** Whether the order of names that signatures need is kept up with each change. */
  readonly api_rectify: boolean;
}

export type ServedKey = Static<typeof Keys>[number];

/** The zone's address under the server's. */
export function zonePath(zoneName: string): string {
  return `/zones/${encodeURIComponent(`${zoneName}.`)}`;
}

/** Undefined: PowerDNS has no such zone. */
export async function readZone(client: PowerDnsClient, zoneName: string): Promise<ServedZone | undefined> {
  const answer = await client.read(zonePath(zoneName));
  if (answer === undefined) return undefined;
  if (!Value.Check(Zone, answer)) throw new Error(`PowerDNS gave the zone ${zoneName} in a form that is not known`);
  const { soa_edit_api = '', soa_edit = '', api_rectify = false, rrsets } = answer;
  return { settings: { soa_edit_api, soa_edit, api_rectify }, recordSets: rrsets };
}

/** Undefined: PowerDNS has no such zone. */
export async function readKeys(client: PowerDnsClient, zoneName: string): Promise<ServedKey[] | undefined> {
  const answer = await client.read(`${zonePath(zoneName)}/cryptokeys`);
  if (answer === undefined) return undefined;
  if (!Value.Check(Keys, answer)) throw new Error(`PowerDNS gave the keys of ${zoneName} in a form that is not known`);
  return answer;
}
