/** Entities of RDAP (RFC 9083, section 5.1), with their contacts as jCard (RFC 7095). */
import type { RegistrantContact } from '../../tables.ts';
import { selfLink } from './answers.ts';
import type { Publication } from './redaction.ts';
import type { RegistrarIdentity } from './registrar-identity.ts';

type Property = readonly [name: string, parameters: object, type: string, value: unknown];

function cardOf(properties: readonly (Property | undefined)[]) {
  return ['vcard', [['version', {}, 'text', '4.0'], ...properties.filter((property) => property !== undefined)]];
}

function text(name: string, value: string | undefined): Property | undefined {
  return value === undefined || value === '' ? undefined : [name, {}, 'text', value];
}

function phone(value: string | undefined): Property | undefined {
  return value === undefined || value === ''
    ? undefined
    : ['tel', { type: 'voice' }, 'uri', `tel:${value.replaceAll(/[^+\d]/g, '')}`];
}

/** The registrar, with whom to tell of abuse. `baseUrl`: of RDAP. */
export function renderRegistrar(
  { abuse_email: email, abuse_phone: tel, iana_id: ianaId, name, url }: RegistrarIdentity,
  baseUrl: string,
) {
  const handle = ianaId === undefined ? undefined : String(ianaId);
  const base = `${baseUrl}/`;
  return {
    objectClassName: 'entity',
    roles: ['registrar'],
    ...(handle === undefined ? {} : { handle, publicIds: [{ type: 'IANA Registrar ID', identifier: handle }] }),
    vcardArray: cardOf([text('fn', name), url === undefined ? undefined : ['url', {}, 'uri', url]]),
    links: [
      ...(handle === undefined ? [] : [selfLink(`${baseUrl}/entity/${handle}`)]),
      // ICANN's response profile, section 2.4.6.
      { ...selfLink(base), rel: 'about' },
    ],
    entities: [
      {
        objectClassName: 'entity',
        roles: ['abuse'],
        vcardArray: cardOf([text('fn', `Abuse contact of ${name}`), text('email', email), phone(tel)]),
      },
    ],
  };
}

export interface PublishedRegistrant {
  readonly name: string;
  readonly email: string;
  readonly contact: RegistrantContact;
}

/** Whole where its owner has turned privacy off; the country alone else, or where it is. See `redaction.ts`. */
export function renderRegistrant(
  { contact, email, name }: PublishedRegistrant,
  { contactUri, isPrivate, showsRegion }: Publication,
) {
  const {
    city = '',
    country,
    organization,
    phone: tel,
    postal_code: postalCode = '',
    region = '',
    street = '',
  } = contact;
  const place = isPrivate
    ? ['', '', '', '', showsRegion ? region : '', '', '']
    : ['', '', street, city, region, postalCode, ''];
  // The country is told by its code alone (RFC 8605).
  const address: Property = ['adr', country === undefined ? {} : { cc: country.toUpperCase() }, 'text', place];
  const properties: (Property | undefined)[] = isPrivate
    ? [NO_NAME, address, contactUri === undefined ? undefined : ['contact-uri', {}, 'uri', contactUri]]
    : [text('fn', name), text('org', organization), address, text('email', email), phone(tel)];
  return { objectClassName: 'entity', roles: ['registrant'], vcardArray: cardOf(properties) };
}

/** jCard demands the property. */
const NO_NAME: Property = ['fn', {}, 'text', ''];
