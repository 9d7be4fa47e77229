/** Zones on their way to or from DNSSEC. One process works on a zone at a time: it has the zone's lease. */

import { sql } from 'kysely';
import type { Database, Executor } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import { json } from '../../../kernel/db/values.ts';
import { appendEvent } from '../../events/index.ts';
import { countLapsed, isFree } from '../../lapsed-leases.ts';
import type { DsRecord } from '../../registry/registry.ts';
import { systemDb } from '../../workspace-scope.ts';
import { OWN_RECORDS_TTL } from '../zone-content.ts';
import type { DnssecState } from './request-dnssec.ts';
import type { RollState } from './request-roll.ts';

/** Far longer than a step with all its retries takes: a process that lets it lapse has died. */
const LEASE_MS = 600_000;
const LEASE = { leaseUntil: 'z.dnssec_lease_until', lapsedLeases: 'z.dnssec_lapsed_leases' } as const;

/** A zone that this process has the lease of, as its row was then. */
export interface ClaimedZone {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
  /** `on`: a new key is under way. */
  readonly state: 'enabling' | 'disabling' | 'on';
  /** The DS records that were last sent to the registry, or were about to be. */
  readonly dsRecords: readonly DsRecord[];
  readonly dsHandedAt: Date | null;
  readonly dsPendingSince: Date | null;
  readonly dsRemovedAt: Date | null;
  readonly rollState: RollState | null;
  readonly rollStepAt: Date | null;
  readonly rollDsRecords: readonly DsRecord[];
  readonly attempts: number;
  /** Names the lease: the next one of the zone begins when this one is given back or has lapsed. */
  readonly leaseUntil: Date;
}

export interface ZoneProgress {
  readonly state?: DnssecState;
  readonly dsRecords?: readonly DsRecord[];
  readonly dsHandedAt?: Date | null;
  readonly dsPendingSince?: Date | null;
  readonly dsRemovedAt?: Date | null;
  readonly rollState?: RollState | null;
  readonly rollStepAt?: Date | null;
  readonly rollDsRecords?: readonly DsRecord[];
  readonly keySince?: Date;
  /** In our words, for its owner. */
  readonly refusal?: string;
  readonly failure?: string | null;
  /** What the registry, or the nameserver, said of that: for the operator alone. */
  readonly registrySaid?: string;
  readonly attempts?: number;
  readonly nextLookAt?: Date | null;
}

interface ClaimedRow {
  workspace_id: string;
  domain_id: string;
  name: string;
  dnssec: ClaimedZone['state'];
  ds_records: DsRecord[];
  ds_handed_at: Date | null;
  ds_pending_since: Date | null;
  ds_removed_at: Date | null;
  roll_state: RollState | null;
  roll_step_at: Date | null;
  roll_ds_records: DsRecord[];
  dnssec_attempts: number;
}

export interface ZoneClaim {
  /** The one that has been due the longest; undefined where none is. Zones of domains that are gone never are. */
  readonly zone: ClaimedZone | undefined;
  /** When the first becomes due of those that are not. */
  readonly nextLookAt: Date | undefined;
}

/** Leases a zone that is due. */
export async function claimDueZone(db: Database, now: Date): Promise<ZoneClaim> {
  const leaseUntil = new Date(now.getTime() + LEASE_MS);
  const { rows } = await sql<
    { [Column in keyof ClaimedRow]: ClaimedRow[Column] | null } & { next_look_at: Date | null }
  >`
    with due as (
      select z.workspace_id, z.domain_id from domains.zones z
      join domains.domains d on d.workspace_id = z.workspace_id and d.id = z.domain_id and d.state <> 'gone'
      where (z.dnssec in ('enabling', 'disabling') or (z.dnssec = 'on' and z.roll_state is not null))
        and (z.dnssec_next_look_at is null or z.dnssec_next_look_at <= ${now})
        and ${isFree(LEASE, now)}
      order by z.dnssec_next_look_at nulls first limit 1
      for no key update of z skip locked
    ), claimed as (
      update domains.zones z set dnssec_lease_until = ${leaseUntil}, dnssec_lapsed_leases = ${countLapsed(LEASE)} from due
      where z.workspace_id = due.workspace_id and z.domain_id = due.domain_id
      returning z.workspace_id, z.domain_id, z.name, z.dnssec, z.ds_records, z.ds_handed_at, z.ds_pending_since,
        z.ds_removed_at, z.roll_state, z.roll_step_at, z.roll_ds_records, z.dnssec_attempts
    )
    select claimed.*, least(
      (select min(dnssec_next_look_at) from domains.zones
       where dnssec in ('enabling', 'disabling') and dnssec_next_look_at > ${now}),
      (select min(dnssec_next_look_at) from domains.zones where roll_state is not null and dnssec_next_look_at > ${now})
    ) as next_look_at
    from (values (true)) as one left join claimed on true`.execute(systemDb(asLook(db)));
  const row = rows[0];
  const nextLookAt = row?.next_look_at ?? undefined;
  const zone = row?.workspace_id === null || row === undefined ? undefined : toZone(row as ClaimedRow, leaseUntil);
  return { zone, nextLookAt };
}

function toZone(row: ClaimedRow, leaseUntil: Date): ClaimedZone {
  return {
    workspaceId: row.workspace_id,
    domainId: row.domain_id,
    name: row.name,
    state: row.dnssec,
    dsRecords: row.ds_records,
    dsHandedAt: row.ds_handed_at,
    dsPendingSince: row.ds_pending_since,
    dsRemovedAt: row.ds_removed_at,
    rollState: row.roll_state,
    rollStepAt: row.roll_step_at,
    rollDsRecords: row.roll_ds_records,
    attempts: row.dnssec_attempts,
    leaseUntil,
  };
}

const unlessRefused = sql<string | null>`case when dnssec_refusal is not null then dnssec_registry_said end`;

/** Writes what was achieved. False, and nothing is written: the lease was lost, or the owner wants something else by now. */
export async function saveProgress(executor: Executor, zone: ClaimedZone, progress: ZoneProgress): Promise<boolean> {
  const { state, dsRecords, dsHandedAt, dsPendingSince, dsRemovedAt, refusal, failure, attempts, nextLookAt } =
    progress;
  const { keySince, registrySaid, rollDsRecords, rollState, rollStepAt } = progress;
  const { numUpdatedRows } = await systemDb(executor)
    .updateTable('zones')
    .set({
      dnssec: state ?? zone.state,
      ...(dsRecords !== undefined && { ds_records: json(dsRecords) }),
      ...(dsHandedAt !== undefined && { ds_handed_at: dsHandedAt }),
      ...(dsPendingSince !== undefined && { ds_pending_since: dsPendingSince }),
      ...(dsRemovedAt !== undefined && { ds_removed_at: dsRemovedAt }),
      ...(rollState !== undefined && { roll_state: rollState }),
      ...(rollStepAt !== undefined && { roll_step_at: rollStepAt }),
      ...(rollDsRecords !== undefined && { roll_ds_records: json(rollDsRecords) }),
      ...(keySince !== undefined && { key_since: keySince }),
      ...(refusal !== undefined && { dnssec_refusal: refusal }),
      // What was said of a refusal stays with it.
      ...(failure !== undefined && { dnssec_failure: failure, dnssec_registry_said: unlessRefused }),
      ...(registrySaid !== undefined && { dnssec_registry_said: registrySaid }),
      ...(attempts !== undefined && { dnssec_attempts: attempts }),
      ...(nextLookAt !== undefined && { dnssec_next_look_at: nextLookAt }),
    })
    .where('workspace_id', '=', zone.workspaceId)
    .where('domain_id', '=', zone.domainId)
    .where('dnssec', '=', zone.state)
    .where('dnssec_lease_until', '=', zone.leaseUntil)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function releaseZone(executor: Executor, zone: ClaimedZone): Promise<void> {
  await systemDb(executor)
    .updateTable('zones')
    .set({ dnssec_lease_until: null })
    .where('workspace_id', '=', zone.workspaceId)
    .where('domain_id', '=', zone.domainId)
    .where('dnssec_lease_until', '=', zone.leaseUntil)
    .execute();
}

/** As `saveProgress`, of what the owner of the zone is told. */
export async function saveAndTell(
  db: Database,
  zone: ClaimedZone,
  type: 'dnssec.enabled' | 'dnssec.disabled' | 'dnssec.refused',
  progress: ZoneProgress,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const isSaved = await saveProgress(tx, zone, progress);
    const reason = progress.refusal === undefined ? {} : { reason: progress.refusal };
    if (isSaved) await appendEvent(tx, zone.workspaceId, { type, data: { domain: zone.name, ...reason } });
    return isSaved;
  });
}

/** How long any answer of the zone may be remembered; that of its keys has the TTL of its own records. */
export async function longestTtlMs(db: Database, { workspaceId, domainId }: ClaimedZone): Promise<number> {
  const found = await systemDb(db)
    .selectFrom('dns_records')
    .select(({ fn }) => fn.max('ttl').as('ttl'))
    .where('workspace_id', '=', workspaceId)
    .where('domain_id', '=', domainId)
    .executeTakeFirst();
  return Math.max(found?.ttl ?? 0, OWN_RECORDS_TTL) * 1_000;
}
