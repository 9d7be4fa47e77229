/** Rows of zones and their records, by the statements that the service's own work and hot paths use. */
import type { Database, Executor, Transaction } from '../../kernel/db/database.ts';
import type { DsRecord } from '../registry/registry.ts';

/** Names a zone. The name is ASCII, lower case, without the last dot. */
export interface ZoneRef {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
}

export interface StoredRecord {
  readonly id: string;
  /** `@` for the zone's own name; lower case. */
  readonly subdomain: string;
  readonly type: string;
  /** Canonical text of its type. */
  readonly value: string;
  readonly ttl: number;
  readonly created_at: Date;
  /** Of an ALIAS record, where it was read with it. */
  readonly alias?: StoredAlias | null;
}

export interface StoredAlias {
  readonly addresses: readonly { readonly value: string }[];
  readonly resolved_at: string | null;
  readonly problem: string | null;
}

export interface ZoneRow extends ZoneRef {
  readonly version: number;
  readonly publishedVersion: number;
  readonly serial: number;
  readonly dnssec: 'off' | 'enabling' | 'on' | 'disabling';
  readonly dsRecords: readonly DsRecord[];
  /** The zone is to be removed from the publisher. */
  readonly isClosed: boolean;
  /** It is kept, and to be removed from the publisher. */
  readonly isWithdrawn: boolean;
}

/** Notifies reconcilers and nameservers of a changed zone; its name is the payload. */
export const ZONE_CHANGED = 'domains_zone_changed';

/**
 * A zone for a name that the workspace has or is acquiring. Repeating it changes nothing. What an earlier owner's zone of
 * the name left behind goes.
 */
export async function openZone(tx: Transaction, zone: ZoneRef): Promise<void> {
  const { workspaceId, domainId, name } = zone;
  // Counted, so that what is left behind goes first. Seconds as the first serial: that of a zone which is opened anew is above the one that
  // resolvers remember.
  await tx.query({
    text: `
      with left_behind as (
        delete from domains.zones z using domains.domains d
        where z.name = $3 and (z.workspace_id, z.domain_id) <> ($1::text, $2::text)
          and d.workspace_id = z.workspace_id and d.id = z.domain_id and d.state = 'gone'
        returning z.name
      ), opened as (
        insert into domains.zones (workspace_id, domain_id, name, serial)
        select $1, $2, $3, extract(epoch from now())::bigint from (select count(*) from left_behind)
        on conflict (workspace_id, domain_id) do nothing
        returning name
      )
      select pg_notify($4, name) from opened`,
    values: [workspaceId, domainId, name, ZONE_CHANGED],
  });
}

/** Keeps the zone of a name that has left the portfolio, and closes it at that time, unless it is kept open until then. */
export async function closeZoneLater(tx: Transaction, zone: ZoneRef, at: Date): Promise<void> {
  await setCloseAt(tx, zone, at);
}

/** Takes back `closeZoneLater`. */
export async function keepZoneOpen(tx: Transaction, zone: ZoneRef): Promise<void> {
  await setCloseAt(tx, zone, null);
  const reset =
    'is_withdrawn = false, delegation_look_at = null, delegation_moved_at = null, delegation_ttl_seconds = null';
  const { rowCount } = await tx.query({
    text: `update domains.zones set ${reset} where workspace_id = $1 and domain_id = $2 and is_withdrawn`,
    values: [zone.workspaceId, zone.domainId],
  });
  if (rowCount > 0) return zoneChanged(tx, zone);
  await tx.query({
    text: `update domains.zones set ${reset} where workspace_id = $1 and domain_id = $2`,
    values: [zone.workspaceId, zone.domainId],
  });
}

/** Has the zone of a name that left to another registrar served only until the name is delegated elsewhere. */
export async function followDelegation(tx: Transaction, { workspaceId, domainId }: ZoneRef, now: Date): Promise<void> {
  await tx.query({
    text: `update domains.zones set delegation_look_at = $3
      where workspace_id = $1 and domain_id = $2 and not is_closed and not is_withdrawn`,
    values: [workspaceId, domainId, now],
  });
}

async function setCloseAt(tx: Transaction, { workspaceId, domainId }: ZoneRef, at: Date | null): Promise<void> {
  await tx.query({
    text: 'update domains.zones set close_at = $3 where workspace_id = $1 and domain_id = $2 and not is_closed',
    values: [workspaceId, domainId, at],
  });
}

/** Closes zones whose time has come, up to `limit`; how many there were. */
export async function closeDueZones(db: Database, now: Date, limit: number): Promise<number> {
  const { rows } = await db.query<{ workspace_id: string; domain_id: string; name: string }>({
    text: `select workspace_id, domain_id, name from domains.zones
      where close_at <= $1 and not is_closed order by close_at limit $2`,
    values: [now, limit],
  });
  for (const { workspace_id: workspaceId, domain_id: domainId, name } of rows) {
    await db.transaction((tx) => closeZone(tx, { workspaceId, domainId, name }));
  }
  return rows.length;
}

/** Drops the zone's records; the reconciler removes the zone from the publisher. No zone is no error. */
export async function closeZone(tx: Transaction, zone: ZoneRef): Promise<void> {
  // A record that is being added is there by then, and goes too.
  if (!(await lockZone(tx, zone))) return;
  await tx.query({
    text: 'update domains.zones set is_closed = true, close_at = null where workspace_id = $1 and domain_id = $2',
    values: [zone.workspaceId, zone.domainId],
  });
  await tx.query({
    text: 'delete from domains.dns_records where workspace_id = $1 and domain_id = $2',
    values: [zone.workspaceId, zone.domainId],
  });
  await zoneChanged(tx, zone);
}

/** Counts a change of what the zone serves; reconcilers are notified once it commits. */
export async function zoneChanged(tx: Transaction, zone: ZoneRef): Promise<void> {
  await tx.query({
    text: `update domains.zones set version = version + 1, serial = (serial + 1) % 4294967296, updated_at = now()
      where workspace_id = $1 and domain_id = $2`,
    values: [zone.workspaceId, zone.domainId],
  });
  await tx.notify(ZONE_CHANGED, zone.name);
}

/** Locks the zone until the transaction ends: its changes come one after the other. False when there is none. */
export async function lockZone(tx: Transaction, zone: ZoneRef): Promise<boolean> {
  const { rowCount } = await tx.query({
    text: 'select from domains.zones where workspace_id = $1 and domain_id = $2 for no key update',
    values: [zone.workspaceId, zone.domainId],
  });
  return rowCount > 0;
}

/** By subdomain, type and age. */
export async function listRecords(executor: Executor, zone: ZoneRef): Promise<StoredRecord[]> {
  const { rows } = await executor.query<StoredRecord>({
    text: `select id, subdomain, type, value, ttl, created_at from domains.dns_records
      where workspace_id = $1 and domain_id = $2 order by subdomain, type, id`,
    values: [zone.workspaceId, zone.domainId],
  });
  return rows;
}

interface FoundZone {
  workspace_id: string;
  domain_id: string;
  name: string;
  version: number;
  published_version: number;
  serial: number;
  dnssec: ZoneRow['dnssec'];
  ds_records: DsRecord[];
  is_closed: boolean;
  is_withdrawn: boolean;
}

/** Any workspace's zone, by its name. */
export async function findZone(executor: Executor, name: string): Promise<ZoneRow | undefined> {
  const { rows } = await executor.query<FoundZone>({
    text: `select z.workspace_id, z.domain_id, z.name, z.version, z.published_version, z.serial, z.dnssec, z.ds_records,
        z.is_closed, z.is_withdrawn
      from domains.zones z where z.name = $1`,
    values: [name],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    workspaceId: row.workspace_id,
    domainId: row.domain_id,
    name: row.name,
    version: row.version,
    publishedVersion: row.published_version,
    serial: row.serial,
    dnssec: row.dnssec,
    dsRecords: row.ds_records,
    isClosed: row.is_closed,
    isWithdrawn: row.is_withdrawn,
  };
}
