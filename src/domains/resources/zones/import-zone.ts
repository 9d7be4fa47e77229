import { importZone as importRecords } from '../../dns/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { findHostedZone } from './find-hosted-zone.ts';
import { type ImportedZone, LONGEST_TTL, SHORTEST_TTL, type ZoneFileUpload, type ZonePath } from './schema.ts';

/** `nameservers` are the service's own. */
export function importZone(nameservers: readonly string[]) {
  return async (request: WorkspaceChange<{ params: ZonePath; body: ZoneFileUpload }>): Promise<ImportedZone> => {
    const { tx, caller, params, body } = request;
    const zone = await findHostedZone(tx, { workspaceId: caller.workspaceId, name: params.name, nameservers });
    const { skipped, ...counts } = await importRecords(tx, zone, {
      text: body.zone_file,
      keepsOthers: body.keep_others ?? false,
      ttl: { shortest: SHORTEST_TTL, longest: LONGEST_TTL },
    });
    return {
      domain: zone.name,
      ...counts,
      skipped: Array.from(skipped, ([type, count]) => ({ type, count })),
    };
  };
}
