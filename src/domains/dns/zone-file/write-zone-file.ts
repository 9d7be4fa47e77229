import type { OwnRecordSet } from '../zone-content.ts';

interface FileRow {
  readonly subdomain: string;
  readonly type: string;
  readonly value: string;
  readonly ttl: number;
}

/**
 * The zone as a file of RFC 1035 5, which BIND, Knot, NSD, PowerDNS and other providers read: SOA first, one record a line,
 * every host a whole name.
 */
export function writeZoneFile(zoneName: string, own: readonly OwnRecordSet[], records: readonly FileRow[]): string {
  const ownRows = own.flatMap(({ type, ttl, values }) => values.map((value) => ({ subdomain: '@', type, ttl, value })));
  const lines = [...ownRows, ...records].map(
    ({ subdomain, ttl, type, value }) => `${subdomain}\t${ttl}\tIN\t${type}\t${value}`,
  );
  return [`$ORIGIN ${zoneName}.`, ...lines, ''].join('\n');
}
