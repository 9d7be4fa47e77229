/** The service's customers as contact objects of the registry. */
import { createHash, randomBytes } from 'node:crypto';
import type { Registrant } from '../registry.ts';
import type { ContactInfo, CreateContact } from './registry-core.ts';

/**
 * The contact with these data. Its id follows from them, so that the same person has one contact however many names, and a
 * create that is repeated finds it there. Public and private are two contacts.
 */
export function contactOf(registrarId: string, registrant: Registrant, isPrivate: boolean): CreateContact {
  const { city, country, email, name, organization, phone, postalCode, region, street } = registrant;
  const data = {
    postalInfo: [
      {
        type: 'loc',
        name,
        ...(organization === undefined ? {} : { organization }),
        street: street === undefined ? [] : [street],
        // RFC 5733 asks for both; ZZ is the code that ISO 3166-1 leaves to users.
        city: city ?? 'unknown',
        ...(region === undefined ? {} : { region }),
        ...(postalCode === undefined ? {} : { postalCode }),
        country: country?.toUpperCase() ?? 'ZZ',
      },
    ],
    ...(phone === undefined ? {} : { voice: phone }),
    email,
    disclose: !isPrivate,
  } as const;
  const digest = createHash('sha256')
    .update(JSON.stringify([registrarId, data]))
    .digest('hex');
  return { ...data, id: `R${digest.slice(0, 15).toUpperCase()}`, authInfo: randomBytes(16).toString('hex') };
}

/** The person behind a contact, such as one that came with a transfer. */
export function registrantOf({ email, postalInfo, voice }: ContactInfo): Registrant {
  const [address] = postalInfo;
  const street = address?.street.join(', ');
  return {
    name: address?.name ?? email,
    email,
    ...(address?.organization === undefined ? {} : { organization: address.organization }),
    ...(street ? { street } : {}),
    ...(address === undefined ? {} : { city: address.city, country: address.country }),
    ...(address?.region === undefined ? {} : { region: address.region }),
    ...(address?.postalCode === undefined ? {} : { postalCode: address.postalCode }),
    ...(voice === undefined ? {} : { phone: voice }),
  };
}
