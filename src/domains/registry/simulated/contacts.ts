/** Contact objects (RFC 5733). They are not transferred: the new registrar of a name gives it contacts of its own. */
import { type Selectable, sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import { type CommandContext, isSameSecret, requireSponsor } from './command-context.ts';
import { requireAuthInfo } from './domain-links.ts';
import type { ContactData, ContactInfo, CreateContact, ObjectCheck, UpdateContact } from './registry-core.ts';
import { completed, Refusal, type Result } from './replies.ts';
import type { RegistryDb, RegistryTables } from './tables.ts';

type ContactRow = Selectable<RegistryTables['registry_contacts']>;

export async function checkContacts({ db }: CommandContext, ids: readonly string[]): Promise<Result<ObjectCheck[]>> {
  const rows =
    ids.length === 0 ? [] : await db.selectFrom('registry_contacts').select('id').where('id', 'in', ids).execute();
  const taken = new Set(rows.map(({ id }) => id));
  return completed(
    ids.map((value) => (taken.has(value) ? { value, available: false, reason: 'In use' } : { value, available: true })),
  );
}

export async function infoContact(
  context: CommandContext,
  { authInfo, id }: { id: string; authInfo?: string | undefined },
): Promise<Result<ContactInfo>> {
  const { db, session } = context;
  const row = requireFound(
    await db.selectFrom('registry_contacts').selectAll().where('id', '=', id).executeTakeFirst(),
    id,
  );
  const isSponsor = row.sponsor === session.registrarId;
  if (authInfo !== undefined && !isSameSecret(authInfo, row.auth_info)) {
    throw new Refusal(2202, `that is not the auth code of the contact ${id}`);
  }
  if (!isSponsor && authInfo === undefined && !(await isUsedBy(db, id, session.registrarId))) {
    throw new Refusal(2201, `the contact ${id} belongs to another registrar`);
  }
  const isLinked = await isUsedBy(db, id);
  return completed({
    ...row.data,
    id,
    roid: row.roid,
    disclose: row.disclose,
    statuses: isLinked ? ['linked', 'ok'] : ['ok'],
    sponsor: row.sponsor,
    createdBy: row.created_by,
    createdAt: row.created_at,
    ...(row.updated_by === null ? {} : { updatedBy: row.updated_by }),
    ...(row.updated_at === null ? {} : { updatedAt: row.updated_at }),
    ...(isSponsor ? { authInfo: row.auth_info } : {}),
  });
}

export async function createContact(
  { db, now, session }: CommandContext,
  command: CreateContact,
): Promise<Result<{ id: string; createdAt: Date }>> {
  const { id, authInfo, disclose, ...data } = command;
  if (!/^[\x21-\x7e]{3,16}$/.test(id)) throw new Refusal(2005, 'the id of a contact has 3 to 16 characters', 'id');
  requireContactData(command);
  const created = await db
    .insertInto('registry_contacts')
    .values({
      id,
      sponsor: session.registrarId,
      created_by: session.registrarId,
      created_at: now,
      updated_by: null,
      updated_at: null,
      data: json(data),
      disclose,
      auth_info: authInfo,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (created === undefined) throw new Refusal(2302, `there is a contact ${id} already`);
  return completed({ id, createdAt: now });
}

export async function updateContact(context: CommandContext, command: UpdateContact): Promise<Result<undefined>> {
  const row = await lockContact(context, command.id);
  const { id, authInfo = row.auth_info, disclose = row.disclose, ...changed } = command;
  const data = { ...row.data, ...changed };
  requireContactData({ ...data, authInfo, disclose });
  const written = { data: json(data), disclose, auth_info: authInfo };
  await context.db
    .updateTable('registry_contacts')
    .set({ ...written, updated_by: context.session.registrarId, updated_at: context.now })
    .where('id', '=', id)
    .execute();
  return completed(undefined);
}

export async function deleteContact(context: CommandContext, id: string): Promise<Result<undefined>> {
  await lockContact(context, id);
  if (await isUsedBy(context.db, id)) throw new Refusal(2305, `a name uses the contact ${id}`);
  await context.db.deleteFrom('registry_contacts').where('id', '=', id).execute();
  return completed(undefined);
}

/** Locked until the command ends, also against names that begin to use it. */
async function lockContact(context: CommandContext, id: string): Promise<ContactRow> {
  const query = context.db.selectFrom('registry_contacts').selectAll().where('id', '=', id).forUpdate();
  const row = requireFound(await query.executeTakeFirst(), id);
  requireSponsor(context, row, `the contact ${id}`);
  return row;
}

function requireFound(row: ContactRow | undefined, id: string): ContactRow {
  if (row === undefined) throw new Refusal(2303, `there is no contact ${id}`, 'id');
  return row;
}

/** Whether a name uses it: any, or one of the registrar's. Each way of its own has an index; one condition of both would read every name. */
async function isUsedBy(db: RegistryDb, id: string, registrarId?: string): Promise<boolean> {
  const names = db.selectFrom('registry_domains as d').select(sql`1`.as('one'));
  const uses = registrarId === undefined ? names : names.where('d.sponsor', '=', registrarId);
  const asRegistrant = uses.where('d.registrant', '=', id);
  const asContact = uses
    .innerJoin('registry_domain_contacts as c', 'c.domain_name', 'd.name')
    .where('c.contact_id', '=', id);
  return (await asRegistrant.unionAll(asContact).limit(1).executeTakeFirst()) !== undefined;
}

function requireContactData(data: ContactData): void {
  requireAuthInfo(data.authInfo);
  const types = new Set(data.postalInfo.map(({ type }) => type));
  if (data.postalInfo.length === 0 || types.size !== data.postalInfo.length) {
    throw new Refusal(2003, 'a contact has one postal address, or one of each type', 'postalInfo');
  }
  for (const { city, country, name, street } of data.postalInfo) {
    if (name.trim() === '' || city.trim() === '')
      throw new Refusal(2003, 'an address has a name and a city', 'postalInfo');
    if (street.length > 3) throw new Refusal(2306, 'an address has at most three lines of street', 'street');
    if (!/^[A-Z]{2}$/.test(country)) throw new Refusal(2005, `${country} is no country code of two capitals`, 'cc');
  }
  if (!/^[^\s@]+@[^\s@]+$/.test(data.email)) throw new Refusal(2005, 'that is no e-mail address', 'email');
  for (const [element, number] of [['voice', data.voice] as const, ['fax', data.fax] as const]) {
    if (number === undefined || /^\+\d{1,3}\.\d{1,14}$/.test(number)) continue;
    throw new Refusal(2005, 'write a telephone number as +49.301234567', element);
  }
}
