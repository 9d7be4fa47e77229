import { ApiError } from '../../../kernel/http/errors.ts';
import { badRecord, removeRecord } from '../../dns/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { findHostedZone } from './find-hosted-zone.ts';
import { renderRecord } from './render-record.ts';
import { requireNamed } from './require-named.ts';
import type { DnsRecord, DnsRecordNamed, DnsRecordQuery, ZonePath } from './schema.ts';

/** `nameservers` are the service's own. */
export function deleteRecord(nameservers: readonly string[]) {
  return async (
    request: WorkspaceChange<{ params: ZonePath; query: DnsRecordQuery; body: DnsRecordNamed }>,
  ): Promise<{ deleted: true; record: DnsRecord }> => {
    const { tx, caller, params, query, body } = request;
    const zone = await findHostedZone(tx, { workspaceId: caller.workspaceId, name: params.name, nameservers });
    const removed = await removeRecord(tx, zone, requireNamed({ ...query, ...body }, refuseMissing));
    if (removed === undefined) {
      throw new ApiError('not_found', { message: 'The zone has no such record. GET …/zone lists what it has.' });
    }
    return { deleted: true, record: renderRecord(zone.name, removed) };
  };
}

function refuseMissing(param: string) {
  return badRecord(param, `\`${param}\` is required, in the body or in the query.`);
}
