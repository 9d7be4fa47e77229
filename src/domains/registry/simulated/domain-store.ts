/** Rows of registered names, with what is linked to them. */

import { type Selectable, sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import { type SplitDue, splitDue } from '../../../kernel/periodic/split-due.ts';
import { type DomainState, nextDue } from './life-cycle.ts';
import type { DomainContact } from './registry-core.ts';
import type { PendingCommand, RegistryDb, RegistryTables, Stored, TradeRecord, TransferRecord } from './tables.ts';

interface DomainRow extends Selectable<RegistryTables['registry_domains']> {
  disclose: boolean;
  contacts: DomainContact[];
  nameservers: string[];
  subordinate_hosts: string[];
}

export async function findDomain(db: RegistryDb, name: string): Promise<DomainState | undefined> {
  const row = await db
    .selectFrom('registry_domains as d')
    .innerJoin('registry_contacts as r', 'r.id', 'd.registrant')
    .selectAll('d')
    .select([
      'r.disclose',
      sql<DomainContact[]>`coalesce((
        select jsonb_agg(jsonb_build_object('type', c.type, 'id', c.contact_id) order by c.type, c.contact_id)
        from domains.registry_domain_contacts c where c.domain_name = d.name), '[]')`.as('contacts'),
      sql<string[]>`array(
        select h.host_name from domains.registry_domain_hosts h where h.domain_name = d.name order by h.host_name collate "C"
      )`.as('nameservers'),
      sql<string[]>`array(
        select s.name from domains.registry_hosts s where s.superordinate = d.name order by s.name collate "C"
      )`.as('subordinate_hosts'),
    ])
    .where('d.name', '=', name)
    .executeTakeFirst();
  return row === undefined ? undefined : stateOf(row);
}

/** The name, locked until this transaction ends. */
export async function lockDomain(db: RegistryDb, name: string): Promise<DomainState | undefined> {
  const lock = db.selectFrom('registry_domains').select('name').where('name', '=', name).forUpdate();
  // Read by a statement of its own: what is linked is as fresh as the row only after the wait.
  return (await lock.executeTakeFirst()) === undefined ? undefined : findDomain(db, name);
}

/** Which of the names, in any case, have a row. */
export async function listRegistered(
  db: RegistryDb,
  names: readonly string[],
): Promise<{ name: string; dueAt: Date | null }[]> {
  if (names.length === 0) return [];
  const wanted = names.map((name) => name.toLowerCase());
  const rows = db.selectFrom('registry_domains').select(['name', 'due_at as dueAt']);
  // One text for lists of every length: it is prepared once.
  return rows.where('name', '=', sql<string>`any(${wanted}::text[])`).execute();
}

/** Names that something happens to by itself, those first to which it happens first. */
export async function listDueNames(db: RegistryDb, now: Date, limit: number): Promise<SplitDue<{ name: string }>> {
  const waiting = db.selectFrom('registry_domains').select(['name', 'due_at']).where('due_at', 'is not', null);
  return splitDue(await waiting.orderBy('due_at').limit(limit).execute(), (row) => row.due_at, now);
}

/** False when the name is there already: of two at once one waits for the other and then sees it. */
export async function insertDomain(db: RegistryDb, domain: Omit<DomainState, 'roid'>): Promise<boolean> {
  const inserted = await db
    .insertInto('registry_domains')
    .values({
      ...columnsOf({ ...domain, roid: '' }),
      name: domain.name,
      created_by: domain.createdBy,
      created_at: domain.createdAt,
    })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('name')
    .executeTakeFirst();
  if (inserted === undefined) return false;
  await linkHosts(db, domain.name, domain.nameservers);
  await linkContacts(db, domain.name, domain.contacts);
  return true;
}

/** Stores what differs from `before`, the row that this transaction holds. */
export async function updateDomain(db: RegistryDb, before: DomainState, after: DomainState): Promise<void> {
  await db.updateTable('registry_domains').set(columnsOf(after)).where('name', '=', after.name).execute();
  if (before.sponsor !== after.sponsor) {
    const below = db.updateTable('registry_hosts').set({ sponsor: after.sponsor });
    await below.where('superordinate', '=', after.name).execute();
  }
  if (before.nameservers !== after.nameservers) {
    await db.deleteFrom('registry_domain_hosts').where('domain_name', '=', after.name).execute();
    await linkHosts(db, after.name, after.nameservers);
  }
  if (before.contacts !== after.contacts) {
    await db.deleteFrom('registry_domain_contacts').where('domain_name', '=', after.name).execute();
    await linkContacts(db, after.name, after.contacts);
  }
}

export async function removeDomain(db: RegistryDb, name: string): Promise<void> {
  await db.deleteFrom('registry_domains').where('name', '=', name).execute();
}

async function linkHosts(db: RegistryDb, name: string, hosts: readonly string[]): Promise<void> {
  if (hosts.length === 0) return;
  const links = hosts.map((host) => ({ domain_name: name, host_name: host }));
  await db.insertInto('registry_domain_hosts').values(links).execute();
}

async function linkContacts(db: RegistryDb, name: string, contacts: readonly DomainContact[]): Promise<void> {
  if (contacts.length === 0) return;
  const links = contacts.map(({ type, id }) => ({ domain_name: name, type, contact_id: id }));
  await db.insertInto('registry_domain_contacts').values(links).execute();
}

function columnsOf(domain: DomainState) {
  return {
    sponsor: domain.sponsor,
    updated_by: domain.updatedBy,
    updated_at: domain.updatedAt,
    transferred_at: domain.transferredAt,
    expires_at: domain.expiresAt,
    registrant: domain.registrant,
    auth_info: domain.authInfo,
    client_statuses: [...domain.clientStatuses],
    ds_records: json(domain.dsRecords),
    phase: domain.phase,
    phase_until: domain.phaseUntil,
    pending: domain.pending === null ? null : json(domain.pending),
    transfer: domain.transfer === null ? null : json(domain.transfer),
    trade: domain.trade === null ? null : json(domain.trade),
    due_at: nextDue(domain) ?? null,
    auto_renew_until: domain.autoRenewUntil,
  };
}

function stateOf(row: DomainRow): DomainState {
  return {
    name: row.name,
    roid: row.roid,
    sponsor: row.sponsor,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedBy: row.updated_by,
    updatedAt: row.updated_at,
    transferredAt: row.transferred_at,
    expiresAt: row.expires_at,
    registrant: row.registrant,
    isPrivate: !row.disclose,
    authInfo: row.auth_info,
    clientStatuses: row.client_statuses,
    dsRecords: row.ds_records,
    phase: row.phase,
    phaseUntil: row.phase_until,
    autoRenewUntil: row.auto_renew_until,
    pending: pendingOf(row.pending),
    transfer: transferOf(row.transfer),
    trade: tradeOf(row.trade),
    contacts: row.contacts,
    nameservers: row.nameservers,
    subordinateHosts: row.subordinate_hosts,
  };
}

function pendingOf(stored: Stored<PendingCommand> | null): PendingCommand | null {
  return stored === null ? null : { ...stored, completesAt: new Date(stored.completesAt) };
}

function tradeOf(stored: Stored<TradeRecord> | null): TradeRecord | null {
  if (stored === null) return null;
  return { ...stored, requestedAt: new Date(stored.requestedAt), actedAt: new Date(stored.actedAt) };
}

function transferOf(stored: Stored<TransferRecord> | null): TransferRecord | null {
  if (stored === null) return null;
  const { actedAt, expiresAt, requestedAt } = stored;
  return {
    ...stored,
    requestedAt: new Date(requestedAt),
    actedAt: new Date(actedAt),
    expiresAt: new Date(expiresAt),
  };
}
