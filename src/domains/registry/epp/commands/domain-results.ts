/** What servers answer to the commands of the domain mapping (RFC 5731 3), in `resData`. Times are ISO 8601 in UTC. */
import { DOMAIN } from '../namespaces.ts';
import { childrenOf, elementsOf, findText, textsOf, type XmlElement } from '../xml/element.ts';
import {
  type ContactReference,
  contactElement,
  findNameservers,
  type Nameservers,
  nameserversElement,
  readContacts,
  readStatuses,
} from './domain-items.ts';
import {
  authInfoElement,
  findAuthInfo,
  findTime,
  optional,
  readBoolean,
  requireChild,
  requireText,
  requireTime,
} from './values.ts';

/** The answer to check, of any object: `value` is its name or id. */
export interface CheckResult {
  readonly value: string;
  readonly available: boolean;
  readonly reason?: string | undefined;
}

/** What a registry tells of a name; to others than its sponsor often little. */
export interface DomainData {
  readonly name: string;
  readonly roid: string;
  readonly statuses: readonly string[];
  readonly registrant?: string | undefined;
  readonly contacts: readonly ContactReference[];
  readonly nameservers?: Nameservers | undefined;
  readonly subordinateHosts: readonly string[];
  readonly sponsor: string;
  readonly createdBy?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly updatedBy?: string | undefined;
  readonly updatedAt?: string | undefined;
  readonly expiresAt?: string | undefined;
  readonly transferredAt?: string | undefined;
  readonly authInfo?: string | undefined;
}

export interface CreatedDomainData {
  readonly name: string;
  readonly createdAt: string;
  readonly expiresAt?: string | undefined;
}

export interface RenewedDomainData {
  readonly name: string;
  readonly expiresAt?: string | undefined;
}

export interface TransferData {
  readonly name: string;
  /** RFC 5730 2.9.3.4: pending, clientApproved, serverApproved… */
  readonly status: string;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly actedBy: string;
  readonly actedAt: string;
  readonly expiresAt?: string | undefined;
}

/** RFC 5731 3.3: the end of a command that was answered with 1001. */
export interface PendingActionData {
  readonly name: string;
  readonly succeeded: boolean;
  readonly clTRID?: string | undefined;
  readonly svTRID: string;
  readonly at: string;
}

const domain = elementsOf(DOMAIN);

/** The `chkData` of an object; `key` is `name`, or `id` for contacts. */
export function checkResultsElement(uri: string, key: 'name' | 'id', results: readonly CheckResult[]): XmlElement {
  const object = elementsOf(uri);
  return object(
    'chkData',
    results.map(({ value, available, reason }) =>
      object('cd', [object(key, value, { avail: available ? '1' : '0' }), optional(uri, 'reason', reason)]),
    ),
  );
}

export function readCheckResults(data: XmlElement, key: 'name' | 'id'): CheckResult[] {
  return childrenOf(data, 'cd').map((item) => {
    const value = requireChild(item, key);
    return {
      value: value.text.trim(),
      available: readBoolean(value.attributes.avail, 'avail'),
      reason: findText(item, 'reason'),
    };
  });
}

export function domainDataElement(data: DomainData): XmlElement {
  return domain('infData', [
    domain('name', data.name),
    domain('roid', data.roid),
    ...data.statuses.map((status) => domain('status', '', { s: status })),
    optional(DOMAIN, 'registrant', data.registrant),
    ...data.contacts.map(contactElement),
    nameserversElement(data.nameservers),
    ...data.subordinateHosts.map((host) => domain('host', host)),
    domain('clID', data.sponsor),
    optional(DOMAIN, 'crID', data.createdBy),
    optional(DOMAIN, 'crDate', data.createdAt),
    optional(DOMAIN, 'upID', data.updatedBy),
    optional(DOMAIN, 'upDate', data.updatedAt),
    optional(DOMAIN, 'exDate', data.expiresAt),
    optional(DOMAIN, 'trDate', data.transferredAt),
    authInfoElement(DOMAIN, data.authInfo),
  ]);
}

export function readDomainData(data: XmlElement): DomainData {
  return {
    name: requireText(data, 'name').toLowerCase(),
    roid: requireText(data, 'roid'),
    statuses: readStatuses(data),
    registrant: findText(data, 'registrant'),
    contacts: readContacts(data),
    nameservers: findNameservers(data),
    subordinateHosts: textsOf(data, 'host'),
    sponsor: requireText(data, 'clID'),
    createdBy: findText(data, 'crID'),
    createdAt: findTime(data, 'crDate'),
    updatedBy: findText(data, 'upID'),
    updatedAt: findTime(data, 'upDate'),
    expiresAt: findTime(data, 'exDate'),
    transferredAt: findTime(data, 'trDate'),
    authInfo: findAuthInfo(data),
  };
}

export function createdDomainElement(data: CreatedDomainData): XmlElement {
  return domain('creData', [
    domain('name', data.name),
    domain('crDate', data.createdAt),
    optional(DOMAIN, 'exDate', data.expiresAt),
  ]);
}

export function readCreatedDomain(data: XmlElement): CreatedDomainData {
  return {
    name: requireText(data, 'name').toLowerCase(),
    createdAt: requireTime(data, 'crDate'),
    expiresAt: findTime(data, 'exDate'),
  };
}

export function renewedDomainElement(data: RenewedDomainData): XmlElement {
  return domain('renData', [domain('name', data.name), optional(DOMAIN, 'exDate', data.expiresAt)]);
}

export function readRenewedDomain(data: XmlElement): RenewedDomainData {
  return { name: requireText(data, 'name').toLowerCase(), expiresAt: findTime(data, 'exDate') };
}

export function transferElement(data: TransferData): XmlElement {
  return domain('trnData', [
    domain('name', data.name),
    domain('trStatus', data.status),
    domain('reID', data.requestedBy),
    domain('reDate', data.requestedAt),
    domain('acID', data.actedBy),
    domain('acDate', data.actedAt),
    optional(DOMAIN, 'exDate', data.expiresAt),
  ]);
}

export function readTransfer(data: XmlElement): TransferData {
  return {
    name: requireText(data, 'name').toLowerCase(),
    status: requireText(data, 'trStatus'),
    requestedBy: requireText(data, 'reID'),
    requestedAt: requireTime(data, 'reDate'),
    actedBy: requireText(data, 'acID'),
    actedAt: requireTime(data, 'acDate'),
    expiresAt: findTime(data, 'exDate'),
  };
}

/** Its transaction ids are in EPP's own namespace, unlike everything around them. */
export function pendingActionElement(data: PendingActionData, transactionId: XmlElement): XmlElement {
  return domain('panData', [
    domain('name', data.name, { paResult: data.succeeded ? '1' : '0' }),
    domain('paTRID', transactionId.children),
    domain('paDate', data.at),
  ]);
}

export function readPendingAction(data: XmlElement): PendingActionData {
  const name = requireChild(data, 'name');
  const ids = requireChild(data, 'paTRID').children;
  const idOf = (local: string) => ids.find((id) => id.local === local)?.text.trim();
  return {
    name: name.text.trim().toLowerCase(),
    succeeded: readBoolean(name.attributes.paResult, 'paResult'),
    clTRID: idOf('clTRID'),
    svTRID: idOf('svTRID') ?? '',
    at: requireTime(data, 'paDate'),
  };
}
