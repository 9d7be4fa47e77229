/** The owner's request to switch DNSSEC on or off. The reconciler carries it out: see advance-dnssec.ts. */
import type { Transaction } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type WorkspaceDb, workspaceDb } from '../../workspace-scope.ts';
import type { ZonePublisher } from '../publisher.ts';

export type DnssecState = 'off' | 'enabling' | 'on' | 'disabling';

/** Notifies the reconcilers; the zone's name is the payload. */
export const DNSSEC_REQUESTED = 'domains_dnssec_requested';

export interface DnssecRequest {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly on: boolean;
  readonly publisher: Pick<ZonePublisher, 'supportsDnssec'>;
}

/**
 * Has DNSSEC switched once the transaction commits; asking for what is so, or is under way, changes nothing. The state
 * after it. Asking for off also rids a zone that was never signed here of DS records that the domain's snapshot shows:
 * they came with the name, and make every answer fail. Throws `bad_request` where zones cannot be signed, `no_hosted_zone` for a domain without a zone.
 */
export async function requestDnssec(
  tx: Transaction,
  { workspaceId, domainId, on, publisher }: DnssecRequest,
): Promise<DnssecState> {
  if (on && !publisher.supportsDnssec) {
    throw new ApiError('bad_request', {
      message:
        'The nameservers of this service do not sign zones, so `dnssec` cannot be turned on. Leave it out, or send false.',
      param: 'dnssec',
    });
  }
  const db = workspaceDb(tx, workspaceId);
  const zone = await db
    .selectFrom('zones')
    .select(['name', 'dnssec'])
    .where('domain_id', '=', domainId)
    .forUpdate()
    .executeTakeFirst();
  if (zone === undefined) throw new ApiError('no_hosted_zone');
  const isStale = !on && zone.dnssec === 'off' && (await hasForeignDs(db, domainId));
  if (isHeadedFor(zone.dnssec, on) && !isStale) return zone.dnssec;
  const dnssec = on ? 'enabling' : 'disabling';
  await db
    .updateTable('zones')
    .set({
      dnssec,
      ds_pending_since: null,
      // A new key that is under way goes with all others, or is as good as any.
      roll_state: null,
      roll_step_at: null,
      roll_ds_records: json([]),
      ds_removed_at: null,
      dnssec_refusal: null,
      dnssec_failure: null,
      dnssec_registry_said: null,
      dnssec_attempts: 0,
      dnssec_next_look_at: null,
    })
    .where('domain_id', '=', domainId)
    .execute();
  await tx.notify(DNSSEC_REQUESTED, zone.name);
  return dnssec;
}

async function hasForeignDs(db: WorkspaceDb, domainId: string): Promise<boolean> {
  const domain = await db.selectFrom('domains').select('snapshot').where('id', '=', domainId).executeTakeFirst();
  return (domain?.snapshot?.dsRecords.length ?? 0) > 0;
}

function isHeadedFor(state: DnssecState, on: boolean): boolean {
  return on ? state === 'on' || state === 'enabling' : state === 'off' || state === 'disabling';
}
