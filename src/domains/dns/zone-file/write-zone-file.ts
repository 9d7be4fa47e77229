import type { OwnRecordSet } from '../zone-content.ts';

interface FileRow {
  readonly subdomain: string;
  readonly type: string;
  readonly value: string;
  readonly ttl: number;
}

/**
 * The zone as a file of RFC 1035 5, which BIND, Knot, NSD, PowerDNS and other providers read: SOA first, one record a line,
 * every host a whole name. ALIAS, which others do not read, is a comment: `records` has the addresses that are served in its place.
 */
export function writeZoneFile(
  zoneName: string,
  own: readonly OwnRecordSet[],
  { aliases, records }: { readonly records: readonly FileRow[]; readonly aliases: readonly FileRow[] },
): string {
  const ownRows = own.flatMap(({ type, ttl, values }) => values.map((value) => ({ subdomain: '@', type, ttl, value })));
  const line = ({ subdomain, ttl, type, value }: FileRow) => `${subdomain}\t${ttl}\tIN\t${type}\t${value}`;
  const comments = aliases.map((alias) => `; ${line(alias)} ; its addresses are below as they are now`);
  return [`$ORIGIN ${zoneName}.`, ...ownRows.map(line), ...comments, ...records.map(line), ''].join('\n');
}
