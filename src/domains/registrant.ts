/** The person who signed a workspace up: the registrant of the names that it registers. */
import { isUniqueViolation } from '../kernel/db/sql-errors.ts';
import { json } from '../kernel/db/values.ts';
import type { Registrant, RegistryHabits } from './registry/registry.ts';
import type { RegistrantContact } from './tables.ts';
import type { WorkspaceDb } from './workspace-scope.ts';

export interface WorkspaceRegistrant {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly contact: RegistrantContact;
}

/** Throws where there is none. */
export async function getRegistrant(db: WorkspaceDb): Promise<WorkspaceRegistrant> {
  return registrantOf(db).executeTakeFirstOrThrow();
}

/** As `getRegistrant`, with whether the name is registered without telling the world of its registrant. */
export async function getRegistrantOfName(
  db: WorkspaceDb,
  domainId: string,
): Promise<WorkspaceRegistrant & { readonly whois_privacy: boolean | null }> {
  return db
    .selectFrom('users')
    .leftJoin('domains', (join) =>
      join.onRef('domains.workspace_id', '=', 'users.workspace_id').on('domains.id', '=', domainId),
    )
    .select(['users.id', 'users.name', 'users.email', 'users.contact', 'domains.whois_privacy'])
    .orderBy('users.created_at')
    .orderBy('users.id')
    .limit(1)
    .executeTakeFirstOrThrow();
}

/** As `getRegistrant`, locked until the transaction ends. */
export async function lockRegistrant(db: WorkspaceDb): Promise<WorkspaceRegistrant> {
  return registrantOf(db).forUpdate().executeTakeFirstOrThrow();
}

function registrantOf(db: WorkspaceDb) {
  return db.selectFrom('users').select(['id', 'name', 'email', 'contact']).orderBy('created_at').orderBy('id').limit(1);
}

export async function saveRegistrant(
  db: WorkspaceDb,
  { id, name, contact }: Pick<WorkspaceRegistrant, 'id' | 'name' | 'contact'>,
): Promise<void> {
  await db
    .updateTable('users')
    .set({ name, contact: json(contact) })
    .where('id', '=', id)
    .execute();
}

/** As a registry is told of it. */
export function registrantAtRegistry({
  contact,
  email,
  name,
}: Pick<WorkspaceRegistrant, 'contact' | 'email' | 'name'>): Registrant {
  const { postal_code: postalCode, ...members } = contact;
  return { name, email, ...members, ...(postalCode === undefined ? {} : { postalCode }) };
}

/** Throws where another account has the address: see `isAddressTaken`. */
export async function saveAddress(
  db: WorkspaceDb,
  id: string,
  { address, key }: { readonly address: string; readonly key: string },
): Promise<void> {
  await db.updateTable('users').set({ email: address, email_key: key }).where('id', '=', id).execute();
}

/** Of what `saveAddress` threw. */
export function isAddressTaken(error: unknown): boolean {
  return isUniqueViolation(error, 'users_email_key_key');
}

/** What registries want to know of a registrant and do not, as members of the contact: what any of them does. */
export function missingContact(habits: readonly RegistryHabits[], contact: RegistrantContact) {
  const required = new Set(habits.flatMap(({ requiredContact }) => requiredContact));
  return [...required].filter((member) => !contact[member]);
}
