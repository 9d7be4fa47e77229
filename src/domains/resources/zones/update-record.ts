import { updateRecord as updateInZone } from '../../dns/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { findHostedZone } from './find-hosted-zone.ts';
import { renderRecord } from './render-record.ts';
import type { DnsRecord, DnsRecordUpdate, RecordPath } from './schema.ts';

/** `nameservers` are the service's own. */
export function updateRecord(nameservers: readonly string[]) {
  return async (request: WorkspaceChange<{ params: RecordPath; body: DnsRecordUpdate }>): Promise<DnsRecord> => {
    const { tx, caller, params, body } = request;
    const zone = await findHostedZone(tx, { workspaceId: caller.workspaceId, name: params.name, nameservers });
    return renderRecord(zone.name, await updateInZone(tx, zone, { ...body, id: params.record_id }));
  };
}
