/** Entities of RDAP (RFC 9083, section 5.1), with their contacts as jCard (RFC 7095), and what is redacted of them (RFC 9537). */
import type { RegistrantContact } from '../../tables.ts';
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

/** The registrar, with whom to tell of abuse. */
export function renderRegistrar({
  abuse_email: email,
  abuse_phone: tel,
  iana_id: ianaId,
  name,
  url,
}: RegistrarIdentity) {
  return {
    objectClassName: 'entity',
    roles: ['registrar'],
    ...(ianaId === undefined
      ? {}
      : { handle: String(ianaId), publicIds: [{ type: 'IANA Registrar ID', identifier: String(ianaId) }] }),
    vcardArray: cardOf([text('fn', name), url === undefined ? undefined : ['url', {}, 'uri', url]]),
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

/** Whole where its owner has turned privacy off; the country alone else. */
export function renderRegistrant({ contact, email, name }: PublishedRegistrant, isPrivate: boolean) {
  const {
    city = '',
    country,
    organization,
    phone: tel,
    postal_code: postalCode = '',
    region = '',
    street = '',
  } = contact;
  const place = isPrivate ? ['', '', '', '', '', '', ''] : ['', '', street, city, region, postalCode, ''];
  const address: Property = ['adr', country === undefined ? {} : { cc: country.toUpperCase() }, 'text', place];
  const properties = isPrivate
    ? [NO_NAME, address]
    : [text('fn', name), text('org', organization), address, text('email', email), phone(tel)];
  return { objectClassName: 'entity', roles: ['registrant'], vcardArray: cardOf(properties) };
}

/** jCard demands the property. */
const NO_NAME: Property = ['fn', {}, 'text', ''];

const REGISTRANT = "$.entities[?(@.roles[0]=='registrant')]";
const REASON = { description: 'The registrant’s data are kept from the public.' };

/** RFC 9537, section 4.2: what a private registrant's entity lacks. */
export const REDACTED = [
  ...[
    ['Registrant Name', 'fn', ''],
    ['Registrant Street', 'adr', '[3][2]'],
    ['Registrant City', 'adr', '[3][3]'],
    ['Registrant State/Province', 'adr', '[3][4]'],
    ['Registrant Postal Code', 'adr', '[3][5]'],
  ].map(([type, property, index = '']) => ({
    name: { type },
    postPath: `${REGISTRANT}.vcardArray[1][?(@[0]=='${property}')]${index === '' ? '[3]' : index}`,
    pathLang: 'jsonpath',
    method: 'emptyValue',
    reason: REASON,
  })),
  ...[
    ['Registrant Organization', 'org'],
    ['Registrant Email', 'email'],
    ['Registrant Phone', 'tel'],
  ].map(([type, property]) => ({
    name: { type },
    prePath: `${REGISTRANT}.vcardArray[1][?(@[0]=='${property}')]`,
    pathLang: 'jsonpath',
    method: 'removal',
    reason: REASON,
  })),
];
