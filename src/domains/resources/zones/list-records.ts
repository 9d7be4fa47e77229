import { HttpReply } from '../../../kernel/http/operation.ts';
import { ownRecordSets } from '../../dns/index.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { readHostedZone } from './find-hosted-zone.ts';
import { renderRecord } from './render-record.ts';
import type { DnsRecord, Zone, ZonePath } from './schema.ts';

/** `nameservers` are the service's own. */
export function listRecords(nameservers: readonly string[]) {
  return async ({ db, caller, params }: WorkspaceRead<{ params: ZonePath }>): Promise<HttpReply<Zone>> => {
    const zone = await readHostedZone(db, { workspaceId: caller.workspaceId, name: params.name, nameservers });
    const records = zone.records.map((record) => renderRecord(zone.name, record));
    const reply = {
      domain: zone.name,
      nameservers: [...nameservers],
      serial: zone.serial,
      published: zone.isPublished,
      records: [...managedRecords(zone.name, zone.serial, nameservers), ...records],
    };
    return new HttpReply(200, reply, { 'cache-control': 'private, no-store' });
  };
}

function managedRecords(zoneName: string, serial: number, nameservers: readonly string[]): DnsRecord[] {
  const shown = { id: null, subdomain: '@', name: zoneName, managed: true, created_at: null };
  return ownRecordSets(zoneName, serial, nameservers).flatMap(({ type, ttl, values }) =>
    values.map((value) => ({ ...shown, type, ttl, value })),
  );
}
