/** Changes of a zone's records. Each locks the zone's row, so that what it checks stays true until it commits. */
import type { Transaction } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { checkPlacement } from './records/check-placement.ts';
import { readSubdomain } from './records/domain-names.ts';
import type { RecordInput } from './records/record-input.ts';
import { type RecordType, recordKinds } from './records/record-kinds.ts';
import { listRecords, lockZone, openZone, type StoredRecord, type ZoneRef, zoneChanged } from './zone-store.ts';

export interface NamedRecord extends RecordInput {
  readonly subdomain: string;
  readonly type: RecordType;
}

export interface NewRecord extends NamedRecord {
  /** Seconds. Absent: that of the records of the same name and type, or an hour. */
  readonly ttl?: number;
}

/** Seconds, of a record that comes without one. */
export const DEFAULT_TTL = 3_600;

/**
 * Adds a record. All records of one name and type have one TTL (RFC 2181 5.2): one that is given becomes the TTL of those
 * which are there too. Throws `bad_request` for what cannot be. A zone that is not there yet is opened.
 */
export async function addRecord(tx: Transaction, zone: ZoneRef, input: NewRecord): Promise<StoredRecord> {
  const added = canonicalRecord(zone, input);
  await lockOrOpenZone(tx, zone);
  const records = await listRecords(tx, zone);
  checkPlacement(records, added, zone.name);
  const set = records.filter(({ subdomain, type }) => subdomain === added.subdomain && type === added.type);
  const ttl = input.ttl ?? set[0]?.ttl ?? DEFAULT_TTL;
  if (set.some((record) => record.ttl !== ttl)) await setTtl(tx, zone, added, ttl);
  const { rows } = await tx.query<StoredRecord>({
    text: `insert into domains.dns_records (workspace_id, domain_id, id, subdomain, type, value, ttl)
      values ($1, $2, $3, $4, $5, $6, $7)
      returning id, subdomain, type, value, ttl, created_at`,
    values: [zone.workspaceId, zone.domainId, mintId('rec'), added.subdomain, added.type, added.value, ttl],
  });
  await zoneChanged(tx, zone);
  const [record] = rows;
  if (record === undefined) throw new Error('an insert returned no row');
  return record;
}

/** The record that was removed; undefined when there was none. Throws `bad_request` for a value that no record can have. */
export async function removeRecord(
  tx: Transaction,
  zone: ZoneRef,
  input: NamedRecord,
): Promise<StoredRecord | undefined> {
  const { subdomain, type, value } = canonicalRecord(zone, input);
  if (!(await lockZone(tx, zone))) return undefined;
  const { rows } = await tx.query<StoredRecord>({
    text: `delete from domains.dns_records
      where workspace_id = $1 and domain_id = $2 and subdomain = $3 and type = $4 and md5(value) = md5($5) and value = $5
      returning id, subdomain, type, value, ttl, created_at`,
    values: [zone.workspaceId, zone.domainId, subdomain, type, value],
  });
  if (rows.length > 0) await zoneChanged(tx, zone);
  return rows[0];
}

export function canonicalRecord(
  zone: ZoneRef,
  input: NamedRecord,
): { subdomain: string; type: RecordType; value: string } {
  return {
    subdomain: readSubdomain(input.subdomain, zone.name),
    type: input.type,
    value: recordKinds[input.type].canonical(input, zone.name),
  };
}

/** Locks the zone until the transaction ends; one that is not there yet is opened. */
export async function lockOrOpenZone(tx: Transaction, zone: ZoneRef): Promise<void> {
  if (await lockZone(tx, zone)) return;
  await openZone(tx, zone);
  if (!(await lockZone(tx, zone))) throw new Error(`the zone ${zone.name} is not there although it was opened`);
}

async function setTtl(tx: Transaction, zone: ZoneRef, set: { subdomain: string; type: string }, ttl: number) {
  await tx.query({
    text: `update domains.dns_records set ttl = $5
      where workspace_id = $1 and domain_id = $2 and subdomain = $3 and type = $4`,
    values: [zone.workspaceId, zone.domainId, set.subdomain, set.type, ttl],
  });
}
