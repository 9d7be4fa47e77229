/** What the commands and answers of the domain mapping share: nameservers, contacts and statuses of a name. */
import { isIPv6 } from 'node:net';
import { EppFault } from '../epp-fault.ts';
import { DOMAIN } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, textsOf, type XmlElement } from '../xml/element.ts';
import { requireText } from './values.ts';

/** Registries name nameservers either as objects of their own or by attributes of the domain; never mixed. */
export type NameserverModel = 'hostObj' | 'hostAttr';

export interface Nameservers {
  readonly model: NameserverModel;
  readonly names: readonly string[];
  /** By host, of those that have some here: attributes alone (RFC 5731 1.1). */
  readonly addresses?: Readonly<Record<string, readonly string[]>>;
}

export type ContactType = 'admin' | 'billing' | 'tech';

export interface ContactReference {
  readonly type: ContactType;
  readonly id: string;
}

export interface DomainItems {
  readonly nameservers?: Nameservers | undefined;
  readonly contacts: readonly ContactReference[];
  readonly statuses: readonly string[];
}

const domain = elementsOf(DOMAIN);

/** In the order that the schema asks for. Undefined where there is nothing in it: an empty one is not valid. */
export function itemsElement(local: string, items: DomainItems | undefined): XmlElement | undefined {
  if (items === undefined) return undefined;
  return domain(local, [
    nameserversElement(items.nameservers),
    ...items.contacts.map(contactElement),
    ...items.statuses.map((status) => domain('status', '', { s: status })),
  ]);
}

export function readItems(parent: XmlElement | undefined): DomainItems | undefined {
  if (parent === undefined || parent.children.length === 0) return undefined;
  return {
    nameservers: findNameservers(parent),
    contacts: readContacts(parent),
    statuses: readStatuses(parent),
  };
}

export function readStatuses(parent: XmlElement): string[] {
  return childrenOf(parent, 'status').flatMap((status) => status.attributes.s ?? []);
}

export function contactElement({ type, id }: ContactReference): XmlElement {
  return domain('contact', id, { type });
}

export function readContacts(parent: XmlElement): ContactReference[] {
  return childrenOf(parent, 'contact').map((contact) => {
    const { type } = contact.attributes;
    if (type !== 'admin' && type !== 'billing' && type !== 'tech') {
      throw new EppFault(2005, 'the type of a contact is admin, billing or tech');
    }
    return { type, id: contact.text.trim() };
  });
}

export function nameserversElement(nameservers: Nameservers | undefined): XmlElement | undefined {
  if (nameservers === undefined || nameservers.names.length === 0) return undefined;
  const { addresses = {}, model, names } = nameservers;
  if (model === 'hostObj')
    return domain(
      'ns',
      names.map((name) => domain('hostObj', name)),
    );
  return domain(
    'ns',
    names.map((name) =>
      domain('hostAttr', [
        domain('hostName', name),
        ...(addresses[name] ?? []).map((address) => domain('hostAddr', address, { ip: isIPv6(address) ? 'v6' : 'v4' })),
      ]),
    ),
  );
}

export function findNameservers(parent: XmlElement): Nameservers | undefined {
  const ns = findChild(parent, 'ns');
  if (ns === undefined) return undefined;
  const objects = textsOf(ns, 'hostObj');
  const attributes = childrenOf(ns, 'hostAttr');
  if (objects.length > 0 && attributes.length > 0) throw new EppFault(2001, 'ns holds hostObj or hostAttr, not both');
  if (attributes.length === 0) return { model: 'hostObj', names: objects.map(lower) };
  const hosts = attributes.map((attribute) => ({
    name: lower(requireText(attribute, 'hostName')),
    addresses: textsOf(attribute, 'hostAddr'),
  }));
  const addressed = hosts.filter(({ addresses }) => addresses.length > 0);
  return {
    model: 'hostAttr',
    names: hosts.map(({ name }) => name),
    ...(addressed.length === 0
      ? {}
      : { addresses: Object.fromEntries(addressed.map(({ addresses, name }) => [name, addresses])) }),
  };
}

/** Names are compared in lower case. */
export function nameOf(object: XmlElement): string {
  return lower(requireText(object, 'name'));
}

export function lower(text: string): string {
  return text.toLowerCase();
}
