/** The host mapping (RFC 5732): commands and answers. */
import { isIPv6 } from 'node:net';
import { HOST } from '../namespaces.ts';
import { elementsOf, findChild, findText, textsOf, type XmlElement } from '../xml/element.ts';
import type { Codec } from './codec.ts';
import { readStatuses } from './domain-items.ts';
import { findTime, optional, requireSome, requireText } from './values.ts';

export interface HostCheckCommand {
  readonly kind: 'host:check';
  readonly names: readonly string[];
}
export interface HostInfoCommand {
  readonly kind: 'host:info';
  readonly name: string;
}
export interface HostCreateCommand {
  readonly kind: 'host:create';
  readonly name: string;
  readonly addresses: readonly string[];
}
export interface HostItems {
  readonly addresses: readonly string[];
  readonly statuses: readonly string[];
}
export interface HostUpdateCommand {
  readonly kind: 'host:update';
  readonly name: string;
  readonly add?: HostItems | undefined;
  readonly remove?: HostItems | undefined;
  readonly newName?: string | undefined;
}
export interface HostDeleteCommand {
  readonly kind: 'host:delete';
  readonly name: string;
}
export type HostCommand =
  | HostCheckCommand
  | HostInfoCommand
  | HostCreateCommand
  | HostUpdateCommand
  | HostDeleteCommand;

export interface HostData {
  readonly name: string;
  readonly roid: string;
  readonly statuses: readonly string[];
  readonly addresses: readonly string[];
  readonly sponsor: string;
  readonly createdBy?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly updatedBy?: string | undefined;
  readonly updatedAt?: string | undefined;
}

const host = elementsOf(HOST);
const nameOf = (object: XmlElement) => requireText(object, 'name').toLowerCase();
const addressElement = (address: string) => host('addr', address, { ip: isIPv6(address) ? 'v6' : 'v4' });

export const hostCodecs: { readonly [Kind in HostCommand['kind']]: Codec<Extract<HostCommand, { kind: Kind }>> } = {
  'host:check': {
    encode: ({ names }) => ({
      object: host(
        'check',
        names.map((name) => host('name', name)),
      ),
      extensions: [],
    }),
    decode: ({ object }) => {
      const names = textsOf(object, 'name').map((name) => name.toLowerCase());
      return { kind: 'host:check', names: requireSome(names, 'name') };
    },
  },
  'host:info': {
    encode: ({ name }) => ({ object: host('info', [host('name', name)]), extensions: [] }),
    decode: ({ object }) => ({ kind: 'host:info', name: nameOf(object) }),
  },
  'host:create': {
    encode: ({ name, addresses }) => ({
      object: host('create', [host('name', name), ...addresses.map(addressElement)]),
      extensions: [],
    }),
    decode: ({ object }) => ({ kind: 'host:create', name: nameOf(object), addresses: textsOf(object, 'addr') }),
  },
  'host:update': {
    encode: ({ name, add, remove, newName }) => ({
      object: host('update', [
        host('name', name),
        itemsElement('add', add),
        itemsElement('rem', remove),
        newName === undefined ? undefined : host('chg', [host('name', newName)]),
      ]),
      extensions: [],
    }),
    decode: ({ object }) => ({
      kind: 'host:update',
      name: nameOf(object),
      add: readItems(findChild(object, 'add')),
      remove: readItems(findChild(object, 'rem')),
      newName: findText(findChild(object, 'chg'), 'name')?.toLowerCase(),
    }),
  },
  'host:delete': {
    encode: ({ name }) => ({ object: host('delete', [host('name', name)]), extensions: [] }),
    decode: ({ object }) => ({ kind: 'host:delete', name: nameOf(object) }),
  },
};

function itemsElement(local: string, items: HostItems | undefined): XmlElement | undefined {
  if (items === undefined) return undefined;
  return host(local, [
    ...items.addresses.map(addressElement),
    ...items.statuses.map((status) => host('status', '', { s: status })),
  ]);
}

function readItems(parent: XmlElement | undefined): HostItems | undefined {
  if (parent === undefined || parent.children.length === 0) return undefined;
  return { addresses: textsOf(parent, 'addr'), statuses: readStatuses(parent) };
}

export function hostDataElement(data: HostData): XmlElement {
  return host('infData', [
    host('name', data.name),
    host('roid', data.roid),
    ...data.statuses.map((status) => host('status', '', { s: status })),
    ...data.addresses.map(addressElement),
    host('clID', data.sponsor),
    optional(HOST, 'crID', data.createdBy),
    optional(HOST, 'crDate', data.createdAt),
    optional(HOST, 'upID', data.updatedBy),
    optional(HOST, 'upDate', data.updatedAt),
  ]);
}

export function readHostData(data: XmlElement): HostData {
  return {
    name: nameOf(data),
    roid: requireText(data, 'roid'),
    statuses: readStatuses(data),
    addresses: textsOf(data, 'addr'),
    sponsor: requireText(data, 'clID'),
    createdBy: findText(data, 'crID'),
    createdAt: findTime(data, 'crDate'),
    updatedBy: findText(data, 'upID'),
    updatedAt: findTime(data, 'upDate'),
  };
}

export function createdHostElement(data: { readonly name: string; readonly createdAt: string }): XmlElement {
  return host('creData', [host('name', data.name), host('crDate', data.createdAt)]);
}
