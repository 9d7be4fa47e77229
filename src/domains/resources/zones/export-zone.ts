import { HttpReply } from '../../../kernel/http/operation.ts';
import { ownRecordSets, servedRecords, writeZoneFile } from '../../dns/index.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { readHostedZone } from './find-hosted-zone.ts';
import type { ZoneFile, ZonePath } from './schema.ts';

/** `nameservers` are the service's own. */
export function exportZone(nameservers: readonly string[]) {
  return async ({ db, caller, params }: WorkspaceRead<{ params: ZonePath }>): Promise<HttpReply<ZoneFile>> => {
    const zone = await readHostedZone(db, { workspaceId: caller.workspaceId, name: params.name, nameservers });
    const own = ownRecordSets(zone.name, zone.serial, nameservers);
    const aliases = zone.records.filter(({ type }) => type === 'ALIAS');
    const reply = {
      domain: zone.name,
      serial: zone.serial,
      zone_file: writeZoneFile(zone.name, own, { records: await servedRecords(db, zone, zone.records), aliases }),
    };
    return new HttpReply(200, reply, { 'cache-control': 'private, no-store' });
  };
}
