/** The contact mapping (RFC 5733): commands and answers. Contacts are not transferred here: they follow their names. */

import { EppFault } from '../epp-fault.ts';
import { CONTACT } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, findText, textsOf, type XmlElement } from '../xml/element.ts';
import type { Codec } from './codec.ts';
import { readStatuses } from './domain-items.ts';
import {
  authInfoElement,
  findAuthInfo,
  findTime,
  optional,
  readBoolean,
  requireChild,
  requireSome,
  requireText,
} from './values.ts';

export interface PostalInfo {
  /** int: ASCII only. */
  readonly type: 'int' | 'loc';
  readonly name: string;
  readonly organization?: string | undefined;
  readonly street: readonly string[];
  readonly city: string;
  readonly region?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly country: string;
}

/** In an update, what is absent stays as it is. */
export interface ContactDetails {
  readonly postalInfo: readonly PostalInfo[];
  readonly voice?: string | undefined;
  readonly fax?: string | undefined;
  readonly email?: string | undefined;
  readonly authInfo?: string | undefined;
  /** Whether the data may be shown to the public; absent: as the registry does by itself. */
  readonly disclose?: boolean | undefined;
}

export interface ContactCheckCommand {
  readonly kind: 'contact:check';
  readonly ids: readonly string[];
}
export interface ContactInfoCommand {
  readonly kind: 'contact:info';
  readonly id: string;
  readonly authInfo?: string | undefined;
}
export interface ContactCreateCommand extends ContactDetails {
  readonly kind: 'contact:create';
  readonly id: string;
  readonly email: string;
}
export interface ContactUpdateCommand extends ContactDetails {
  readonly kind: 'contact:update';
  readonly id: string;
  readonly addStatuses: readonly string[];
  readonly removeStatuses: readonly string[];
}
export interface ContactDeleteCommand {
  readonly kind: 'contact:delete';
  readonly id: string;
}
export type ContactCommand =
  | ContactCheckCommand
  | ContactInfoCommand
  | ContactCreateCommand
  | ContactUpdateCommand
  | ContactDeleteCommand;

export interface ContactData extends ContactDetails {
  readonly id: string;
  readonly roid: string;
  readonly statuses: readonly string[];
  readonly sponsor: string;
  readonly createdBy?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly updatedBy?: string | undefined;
  readonly updatedAt?: string | undefined;
}

const contact = elementsOf(CONTACT);
const idOf = (object: XmlElement) => requireText(object, 'id');

export const contactCodecs: {
  readonly [Kind in ContactCommand['kind']]: Codec<Extract<ContactCommand, { kind: Kind }>>;
} = {
  'contact:check': {
    encode: ({ ids }) => ({
      object: contact(
        'check',
        ids.map((id) => contact('id', id)),
      ),
      extensions: [],
    }),
    decode: ({ object }) => ({ kind: 'contact:check', ids: requireSome(textsOf(object, 'id'), 'id') }),
  },
  'contact:info': {
    encode: ({ id, authInfo }) => ({
      object: contact('info', [contact('id', id), authInfoElement(CONTACT, authInfo)]),
      extensions: [],
    }),
    decode: ({ object }) => ({ kind: 'contact:info', id: idOf(object), authInfo: findAuthInfo(object) }),
  },
  'contact:create': {
    encode: (command) => ({
      object: contact('create', [contact('id', command.id), ...detailElements(command)]),
      extensions: [],
    }),
    decode: ({ object }) => {
      const details = readDetails(object);
      requireSome(details.postalInfo, 'postalInfo');
      return { kind: 'contact:create', id: idOf(object), ...details, email: requireText(object, 'email') };
    },
  },
  'contact:update': { encode: encodeUpdate, decode: ({ object }) => decodeUpdate(object) },
  'contact:delete': {
    encode: ({ id }) => ({ object: contact('delete', [contact('id', id)]), extensions: [] }),
    decode: ({ object }) => ({ kind: 'contact:delete', id: idOf(object) }),
  },
};

function encodeUpdate(command: ContactUpdateCommand) {
  const changes = detailElements(command);
  const statuses = (local: string, values: readonly string[]) =>
    values.length === 0
      ? undefined
      : contact(
          local,
          values.map((status) => contact('status', '', { s: status })),
        );
  return {
    object: contact('update', [
      contact('id', command.id),
      statuses('add', command.addStatuses),
      statuses('rem', command.removeStatuses),
      changes.some((change) => change !== undefined) ? contact('chg', changes) : undefined,
    ]),
    extensions: [],
  };
}

function decodeUpdate(object: XmlElement): ContactUpdateCommand {
  const change = findChild(object, 'chg');
  const added = findChild(object, 'add');
  const removed = findChild(object, 'rem');
  return {
    kind: 'contact:update',
    id: idOf(object),
    ...(change === undefined ? { postalInfo: [] } : readDetails(change)),
    addStatuses: added === undefined ? [] : readStatuses(added),
    removeStatuses: removed === undefined ? [] : readStatuses(removed),
  };
}

/** In the schema's order. */
function detailElements(details: ContactDetails): (XmlElement | undefined)[] {
  return [
    ...details.postalInfo.map(postalElement),
    optional(CONTACT, 'voice', details.voice),
    optional(CONTACT, 'fax', details.fax),
    optional(CONTACT, 'email', details.email),
    authInfoElement(CONTACT, details.authInfo),
    details.disclose === undefined ? undefined : discloseElement(details.disclose, details.postalInfo),
  ];
}

function readDetails(parent: XmlElement): ContactDetails {
  return {
    postalInfo: childrenOf(parent, 'postalInfo').map(readPostalInfo),
    voice: findText(parent, 'voice'),
    fax: findText(parent, 'fax'),
    email: findText(parent, 'email'),
    authInfo: findAuthInfo(parent),
    disclose: readDisclose(findChild(parent, 'disclose')),
  };
}

function postalElement(postal: PostalInfo): XmlElement {
  return contact(
    'postalInfo',
    [
      contact('name', postal.name),
      optional(CONTACT, 'org', postal.organization),
      contact('addr', [
        ...postal.street.map((line) => contact('street', line)),
        contact('city', postal.city),
        optional(CONTACT, 'sp', postal.region),
        optional(CONTACT, 'pc', postal.postalCode),
        contact('cc', postal.country),
      ]),
    ],
    { type: postal.type },
  );
}

function readPostalInfo(parent: XmlElement): PostalInfo {
  const { type } = parent.attributes;
  if (type !== 'int' && type !== 'loc') throw new EppFault(2005, 'the type of postalInfo is int or loc');
  const address = requireChild(parent, 'addr');
  return {
    type,
    name: requireText(parent, 'name'),
    organization: findText(parent, 'org'),
    street: textsOf(address, 'street'),
    city: requireText(address, 'city'),
    region: findText(address, 'sp'),
    postalCode: findText(address, 'pc'),
    country: requireText(address, 'cc'),
  };
}

/** All of it or nothing: the forms of postal information that the contact has, or both where they are not known. */
function discloseElement(disclose: boolean, postalInfo: readonly PostalInfo[]): XmlElement {
  const types = postalInfo.length > 0 ? postalInfo.map(({ type }) => type) : (['int', 'loc'] as const);
  return contact(
    'disclose',
    [
      ...['name', 'org', 'addr'].flatMap((local) => types.map((type) => contact(local, '', { type }))),
      ...['voice', 'fax', 'email'].map((local) => contact(local)),
    ],
    { flag: disclose ? '1' : '0' },
  );
}

/** A preference for minor data alone, such as the fax number, says nothing about showing the person. */
function readDisclose(disclose: XmlElement | undefined): boolean | undefined {
  if (disclose === undefined) return undefined;
  const isAboutPerson = ['name', 'addr', 'email'].some((local) => findChild(disclose, local) !== undefined);
  return isAboutPerson ? readBoolean(disclose.attributes.flag, 'flag') : undefined;
}

export function contactDataElement(data: ContactData): XmlElement {
  const details = detailElements({ ...data, authInfo: undefined, disclose: undefined });
  return contact('infData', [
    contact('id', data.id),
    contact('roid', data.roid),
    ...data.statuses.map((status) => contact('status', '', { s: status })),
    ...details,
    contact('clID', data.sponsor),
    optional(CONTACT, 'crID', data.createdBy),
    optional(CONTACT, 'crDate', data.createdAt),
    optional(CONTACT, 'upID', data.updatedBy),
    optional(CONTACT, 'upDate', data.updatedAt),
    authInfoElement(CONTACT, data.authInfo),
    data.disclose === undefined ? undefined : discloseElement(data.disclose, data.postalInfo),
  ]);
}

export function readContactData(data: XmlElement): ContactData {
  return {
    ...readDetails(data),
    id: idOf(data),
    roid: requireText(data, 'roid'),
    statuses: readStatuses(data),
    sponsor: requireText(data, 'clID'),
    createdBy: findText(data, 'crID'),
    createdAt: findTime(data, 'crDate'),
    updatedBy: findText(data, 'upID'),
    updatedAt: findTime(data, 'upDate'),
  };
}

export function createdContactElement(data: { readonly id: string; readonly createdAt: string }): XmlElement {
  return contact('creData', [contact('id', data.id), contact('crDate', data.createdAt)]);
}
