/** The contact object of a name's registrant: one a name, so that hiding it concerns that name alone. */
import { createHash } from 'node:crypto';
import type { CreateCommand, MutationOutcome, Registrant, RegistryHolder } from '../registry.ts';
import { isSuccess, OBJECT_EXISTS } from '../result-codes.ts';
import type { ContactCreateCommand, ContactData, ContactDetails, PostalInfo } from './commands/contact.ts';
import { rejected } from './outcomes.ts';
import { mintAuthInfo, type RegistryLink, transactionIdOf } from './registry-link.ts';

/** RFC 5733 2.4: an address has these. */
export const REQUIRED_CONTACT = ['city', 'country'] as const;

const BASE32 = '0123456789ABCDEFGHIJKLMNOPQRSTUV';

/** The same for the same registrant of the same name at the same registrar: creating it again changes nothing. */
export function contactIdOf(clientId: string, name: string, registrant: Registrant): string {
  const fields = Object.entries(registrant).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256')
    .update(JSON.stringify([clientId, name, fields]))
    .digest();
  return `IC${[...hash.subarray(0, 14)].map((byte) => BASE32[byte % 32]).join('')}`;
}

/** Of a name, and who is to hold it. */
export type Holding = Pick<CreateCommand, 'name' | 'registrant' | 'isPrivate' | 'transactionId'>;

/** Makes the contact, or finds it made. Its id (undefined: the registry has none), or why the registry does not take it. */
export async function ensureContact(
  link: RegistryLink,
  command: Holding,
): Promise<{ readonly id: string | undefined } | { readonly outcome: MutationOutcome }> {
  const { name, registrant, isPrivate } = command;
  const { clientId, contactModel } = link.rules;
  if (contactModel === 'none') return { id: undefined };
  const missing = REQUIRED_CONTACT.filter((field) => !registrant[field]);
  if (missing.length > 0) {
    return { outcome: rejected('policy', `the registry needs the registrant's ${missing.join(' and ')}`) };
  }
  const id = contactIdOf(clientId, name, registrant);
  const key = `contact ${id} ${isPrivate}`;
  // Where updates change the contact itself, its data may have become others since.
  if (link.objects.get(key) === true && link.rules.tradeUri === undefined) return { id };
  const made = await makeContact(link, command, { id, contactModel });
  if (made === undefined) link.objects.set(key, true);
  return made === undefined ? { id } : { outcome: made };
}

/** What keeps it from being made, or undefined. */
async function makeContact(
  link: RegistryLink,
  { isPrivate, registrant, transactionId }: Holding,
  { contactModel, id }: { readonly id: string; readonly contactModel: 'objects' | 'no_disclose' },
): Promise<MutationOutcome | undefined> {
  const clTRID = transactionIdOf(transactionId, 'contact');
  const created = await link.askRepeatable(
    contactOf(id, registrant, contactModel === 'objects' ? !isPrivate : undefined),
    clTRID,
  );
  if (isSuccess(created.code)) return undefined;
  if (created.code !== OBJECT_EXISTS) return link.outcomeOf(created);
  if (link.rules.tradeUri !== undefined) {
    const disclose = contactModel === 'objects' ? !isPrivate : undefined;
    const refreshed = { ...detailsOf(registrant), disclose, addStatuses: [], removeStatuses: [] };
    const answer = await link.askRepeatable({ kind: 'contact:update', id, ...refreshed }, clTRID);
    return isSuccess(answer.code) ? undefined : link.outcomeOf(answer);
  }
  if (contactModel === 'no_disclose') return undefined;
  // It may be there from an earlier registration of the name, with another privacy setting.
  const updated = await link.askRepeatable(disclosureOf(id, isPrivate), clTRID);
  return isSuccess(updated.code) ? undefined : link.outcomeOf(updated);
}

/** Asks for the contact's data to be kept from the public, or not. */
export function disclosureOf(id: string, isPrivate: boolean) {
  return {
    kind: 'contact:update',
    id,
    postalInfo: [],
    addStatuses: [],
    removeStatuses: [],
    disclose: !isPrivate,
  } as const;
}

function contactOf(id: string, registrant: Registrant, disclose: boolean | undefined): ContactCreateCommand {
  return {
    kind: 'contact:create',
    id,
    ...detailsOf(registrant),
    authInfo: mintAuthInfo(),
    disclose,
  };
}

/** What a contact says of a registrant. */
export function detailsOf(
  registrant: Registrant,
): Pick<ContactDetails, 'postalInfo' | 'voice'> & { readonly email: string } {
  return { postalInfo: [postalInfoOf(registrant)], voice: registrant.phone, email: registrant.email };
}

/** As it is written in the contact; one with both forms is known by the first. */
export function holderOf({ postalInfo }: Pick<ContactData, 'postalInfo'>): RegistryHolder {
  const { name = '', organization } = postalInfo[0] ?? {};
  return { name, ...(organization === undefined ? {} : { organization }) };
}

function postalInfoOf(registrant: Registrant): PostalInfo {
  const { name, organization, street, city = '', region, postalCode, country = '' } = registrant;
  const texts = [name, organization, street, city, region, postalCode].join('');
  return {
    // RFC 5733 2.6: the international form is ASCII.
    type: /^[\x20-\x7e]*$/.test(texts) ? 'int' : 'loc',
    name,
    organization,
    street: street === undefined ? [] : street.split('\n').slice(0, 3),
    city,
    region,
    postalCode,
    country: country.toUpperCase(),
  };
}
