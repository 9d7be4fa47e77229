/**
 * Zones of names that have left to another registrar. Their records are what the world finds until the delegation is another, and for as
 * long as resolvers remember the old one:
 *
 *   name retired ─▶ followed ──▶ delegated elsewhere, whenever asked ──▶ for its TTL ──▶ withdrawn: kept, and served no more
 *                     ▲                     │                                               │
 *                     └─ delegated here ────┘            brought back: served again ◀───────┘
 *
 * Whatever the delegation says, a zone is dropped 60 days after its name was retired (portfolio/record-info.ts).
 */

import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { zoneChanged } from '../zone-store.ts';
import { type Delegation, type Delegations, DelegationUnknown } from './delegations.ts';

export interface FollowDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly delegations: Delegations;
  /** The service's own, lower case. */
  readonly nameservers: readonly string[];
}

interface FollowedZone {
  readonly workspace_id: string;
  readonly domain_id: string;
  readonly name: string;
  readonly delegation_moved_at: Date | null;
  readonly delegation_ttl_seconds: number | null;
}

const BATCH_SIZE = 50;
const LOOK_SECONDS = 3_600;
/** Where it is not told: what most TLDs say, and the longest that is believed. */
const USUAL_TTL_SECONDS = 2 * 86_400;
const LONGEST_TTL_SECONDS = 7 * 86_400;

/** Those that are due, once. Any number of processes may do so at a time. */
export async function followDelegations(deps: FollowDependencies, signal?: AbortSignal): Promise<void> {
  for (const zone of await claimDue(deps)) {
    if (signal?.aborted === true) return;
    try {
      await follow(deps, zone, await deps.delegations.find(zone.name));
    } catch (error) {
      if (!(error instanceof DelegationUnknown)) throw error;
      deps.logger.warn(
        { zone: zone.name, reason: error.message },
        'it is not known where a name is delegated; its zone is served on',
      );
    }
  }
}

/** The next look at each is an hour later, whatever comes of this one. */
async function claimDue({ db, clock }: FollowDependencies): Promise<FollowedZone[]> {
  const now = clock.now();
  const { rows } = await asLook(db).query<FollowedZone>({
    text: `update domains.zones set delegation_look_at = $2
      where (workspace_id, domain_id) in (
        select workspace_id, domain_id from domains.zones
        where delegation_look_at <= $1 and not is_closed and not is_withdrawn
        order by delegation_look_at limit $3 for update skip locked)
      returning workspace_id, domain_id, name, delegation_moved_at, delegation_ttl_seconds`,
    values: [now, new Date(now.getTime() + LOOK_SECONDS * 1_000), BATCH_SIZE],
  });
  return rows;
}

async function follow(deps: FollowDependencies, zone: FollowedZone, found: Delegation): Promise<void> {
  const now = deps.clock.now();
  const isHere = found.nameservers.some((server) => deps.nameservers.includes(server));
  const movedAt = isHere ? null : (zone.delegation_moved_at ?? now);
  const ttlSeconds = Math.min(
    Math.max(found.ttlSeconds ?? 0, zone.delegation_ttl_seconds ?? 0) || USUAL_TTL_SECONDS,
    LONGEST_TTL_SECONDS,
  );
  if (movedAt !== null && now.getTime() >= movedAt.getTime() + ttlSeconds * 1_000) return withdraw(deps, zone);
  await deps.db.query({
    text: `update domains.zones set delegation_moved_at = $3, delegation_ttl_seconds = $4
      where workspace_id = $1 and domain_id = $2`,
    values: [
      zone.workspace_id,
      zone.domain_id,
      movedAt,
      found.ttlSeconds === undefined ? zone.delegation_ttl_seconds : ttlSeconds,
    ],
  });
}

/** Its keys go with what is served, so what its parent would have to hold is known to none any more. */
async function withdraw({ db, logger }: FollowDependencies, zone: FollowedZone): Promise<void> {
  const { workspace_id: workspaceId, domain_id: domainId, name } = zone;
  await db.transaction(async (tx) => {
    // Brought back meanwhile: it is followed no more.
    const { rowCount } = await tx.query({
      text: `update domains.zones
        set is_withdrawn = true, delegation_look_at = null, dnssec = 'off', ds_records = '[]', ds_handed_at = null,
          ds_pending_since = null, ds_removed_at = null, dnssec_next_look_at = null, roll_state = null, roll_step_at = null,
          roll_ds_records = '[]', key_since = null
        where workspace_id = $1 and domain_id = $2 and delegation_look_at is not null and not is_closed`,
      values: [workspaceId, domainId],
    });
    if (rowCount > 0) await zoneChanged(tx, { workspaceId, domainId, name });
  });
  logger.info({ zone: name }, 'a name that has left is delegated elsewhere: its zone is kept, and served no more');
}
