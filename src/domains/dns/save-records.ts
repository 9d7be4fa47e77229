/** Writes what a zone's records have become, in two statements whatever their number. */
import type { Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { serveMeanwhile } from './alias/alias-store.ts';
import { type StoredRecord, type ZoneRef, zoneChanged } from './zone-store.ts';

/** A record that has the id of one that was there is that one, with another name, value or TTL; `created_at` is its own. */
export type PlannedRecord = Omit<StoredRecord, 'created_at'> & { readonly created_at?: Date };

export interface SavedChanges {
  readonly added: number;
  readonly changed: number;
  readonly deleted: number;
}

/** `before` is what the locked zone has. The zone counts as changed when anything differs. */
export async function saveRecords(
  tx: Transaction,
  zone: ZoneRef,
  before: readonly StoredRecord[],
  after: readonly PlannedRecord[],
): Promise<SavedChanges> {
  const had = new Map(before.map((record) => [record.id, record]));
  const has = new Set(after.map(({ id }) => id));
  const added = after.filter(({ id }) => !had.has(id));
  const changed = after.filter((record) => differs(record, had.get(record.id)));
  const deleted = before.filter(({ id }) => !has.has(id));
  // A changed row is written anew: two that exchange their values never are the same at once.
  await deleteRows(tx, zone, [...deleted, ...changed]);
  await insertRows(tx, zone, [...changed, ...added]);
  await keepAddresses(tx, zone, before, after);
  const changes = { added: added.length, changed: changed.length, deleted: deleted.length };
  if (changes.added + changes.changed + changes.deleted > 0) await zoneChanged(tx, zone);
  return changes;
}

const ADDRESS_TYPES: ReadonlySet<string> = new Set(['A', 'AAAA']);

/** An ALIAS in the place of addresses goes on with them until its target has been looked up: what is served is never without. */
async function keepAddresses(
  tx: Transaction,
  zone: ZoneRef,
  before: readonly StoredRecord[],
  after: readonly PlannedRecord[],
): Promise<void> {
  const alias = after.find(({ type }) => type === 'ALIAS');
  if (alias === undefined || before.some(({ type }) => type === 'ALIAS')) return;
  const replaced = before.filter(({ subdomain, type }) => subdomain === alias.subdomain && ADDRESS_TYPES.has(type));
  if (replaced.length > 0) await serveMeanwhile(tx, zone, alias.value, replaced);
}

function differs(record: PlannedRecord, stored: StoredRecord | undefined): boolean {
  if (stored === undefined) return false;
  return record.subdomain !== stored.subdomain || record.value !== stored.value || record.ttl !== stored.ttl;
}

async function deleteRows(tx: Transaction, zone: ZoneRef, rows: readonly { readonly id: string }[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.query({
    text: 'delete from domains.dns_records where workspace_id = $1 and domain_id = $2 and id = any($3::text[])',
    values: [zone.workspaceId, zone.domainId, rows.map(({ id }) => id)],
  });
}

async function insertRows(tx: Transaction, zone: ZoneRef, rows: readonly PlannedRecord[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.query({
    text: `insert into domains.dns_records (workspace_id, domain_id, id, subdomain, type, value, ttl, created_at)
      select $1, $2, r.id, r.subdomain, r.type, r.value, r.ttl, coalesce(r.created_at, now())
      from jsonb_to_recordset($3::jsonb)
        as r (id text, subdomain text, type text, value text, ttl int, created_at timestamptz)`,
    values: [zone.workspaceId, zone.domainId, json(rows)],
  });
}
