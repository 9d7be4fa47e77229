import { badRecord, changeRecords as changeZone, type RecordChange } from '../../dns/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { findHostedZone } from './find-hosted-zone.ts';
import { renderRecord } from './render-record.ts';
import { requireNamed } from './require-named.ts';
import type { ChangedDnsRecords, DnsChange, DnsChanges, ZonePath } from './schema.ts';

/** `nameservers` are the service's own. */
export function changeRecords(nameservers: readonly string[]) {
  return async (request: WorkspaceChange<{ params: ZonePath; body: DnsChanges }>): Promise<ChangedDnsRecords> => {
    const { tx, caller, params, body } = request;
    const asked = { workspaceId: caller.workspaceId, name: params.name, nameservers };
    const zone = await findHostedZone(tx, asked);
    const { records, ...counts } = await changeZone(tx, zone, body.changes.map(readChange));
    const { serial } = await findHostedZone(tx, asked);
    return { domain: zone.name, serial, ...counts, records: records.map((record) => renderRecord(zone.name, record)) };
  };
}

function readChange({ action, id, ...given }: DnsChange, index: number): RecordChange {
  const refuse = (param: string, message: string) =>
    badRecord(`changes.${index}.${param}`, `Change ${index}: ${message}`);
  switch (action) {
    case 'create':
      if (id !== undefined) throw refuse('id', 'a record that is created has no `id` yet. Leave it out.');
      return { action, record: requireNamed(given, refuse) };
    case 'update': {
      const { type, ...record } = given;
      if (id === undefined) throw refuse('id', '`id` is required: which record is to be different.');
      if (type !== undefined) throw refuse('type', 'a record keeps its type. Delete it and create another.');
      return { action, record: { id, ...record } };
    }
    case 'delete':
      if (id === undefined) return { action, record: requireNamed(given, refuse) };
      if (Object.keys(given).length > 0) throw refuse('id', 'send `id`, or what names the record, and not both.');
      return { action, record: { id } };
  }
}
