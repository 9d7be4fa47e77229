import { ownRecordSets, type StoredRecord } from '../../dns/index.ts';
import type { HostedZone } from './find-hosted-zone.ts';
import { renderRecord } from './render-record.ts';
import type { DnsRecord, Zone } from './schema.ts';

/** The public shape of a zone, whose own records come first. `nameservers` are the service's own. */
export function renderZone(zone: HostedZone, records: readonly StoredRecord[], nameservers: readonly string[]): Zone {
  return {
    domain: zone.name,
    nameservers: [...nameservers],
    serial: zone.serial,
    published: zone.isPublished,
    dnssec: { state: zone.dnssec, problem: zone.dnssecProblem },
    records: [
      ...managedRecords(zone.name, zone.serial, nameservers),
      ...records.map((record) => renderRecord(zone.name, record)),
    ],
  };
}

function managedRecords(zoneName: string, serial: number, nameservers: readonly string[]): DnsRecord[] {
  return ownRecordSets(zoneName, serial, nameservers).flatMap(({ type, ttl, values }) =>
    values.map((value) => ({
      id: null,
      subdomain: '@',
      name: zoneName,
      type,
      value,
      ttl,
      managed: true,
      created_at: null,
    })),
  );
}
