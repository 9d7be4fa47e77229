import { addRecord } from '../../dns/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { findHostedZone } from './find-hosted-zone.ts';
import { renderRecord } from './render-record.ts';
import type { DnsRecord, DnsRecordCreate, ZonePath } from './schema.ts';

/** `nameservers` are the service's own. */
export function createRecord(nameservers: readonly string[]) {
  return async (request: WorkspaceChange<{ params: ZonePath; body: DnsRecordCreate }>): Promise<DnsRecord> => {
    const { tx, caller, params, body } = request;
    const zone = await findHostedZone(tx, { workspaceId: caller.workspaceId, name: params.name, nameservers });
    return renderRecord(zone.name, await addRecord(tx, zone, body));
  };
}
