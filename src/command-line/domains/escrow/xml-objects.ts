/** The objects of a deposit (RFC 9022): names, the hosts below them, the contacts that hold them, and the registrar. */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { toUnicode } from 'tr46';
import type { DepositedContact, DepositedDomain, DepositedHost } from './read-pages.ts';
import { element, textElement } from './xml-text.ts';

export interface DepositingRegistrar {
  readonly ianaId: string;
  readonly name: string;
  readonly email: string;
  readonly phone: string | undefined;
  readonly url: string | undefined;
}

/** RFC 5731, section 2.3. */
const STATUSES = new Set([
  ...['clientDeleteProhibited', 'clientHold', 'clientRenewProhibited', 'clientTransferProhibited'],
  ...['clientUpdateProhibited', 'inactive', 'ok', 'pendingCreate', 'pendingDelete', 'pendingRenew', 'pendingTransfer'],
  ...['pendingUpdate', 'serverDeleteProhibited', 'serverHold', 'serverRenewProhibited', 'serverTransferProhibited'],
  'serverUpdateProhibited',
]);
/** RFC 3915, section 3.1. */
const GRACE_PERIODS = new Set([
  ...['addPeriod', 'autoRenewPeriod', 'renewPeriod', 'transferPeriod', 'redemptionPeriod', 'pendingRestore'],
]);
/** RFC 5733, section 2.5. */
const PHONE = /^\+[0-9]{1,3}\.[0-9]{1,14}$/;
const BASE32 = '0123456789ABCDEFGHIJKLMNOPQRSTUV';
/** What RFC 5733 demands of an address and is not known. The code is one that ISO 3166 leaves to its users. */
const UNKNOWN = { city: '-', country: 'ZZ' };

/** EPP's ids of registrars have three characters at least. */
export function registrarIdOf({ ianaId }: Pick<DepositingRegistrar, 'ianaId'>): string {
  return `IANA-${ianaId}`;
}

/** Of a registrant: 16 characters are the most that an id may have. */
export function contactIdOf(handle: string): string {
  return idOf('IR', handle);
}

function idOf(prefix: string, what: string): string {
  const hash = createHash('sha256').update(what).digest();
  return `${prefix}${[...hash.subarray(0, 14)].map((byte) => BASE32[byte % 32]).join('')}`;
}

export function domainXml(domain: DepositedDomain, registrarId: string): string {
  const { created_at: createdAt, expires_at: expiresAt, name, registrant, registry_id: roid, updated_at: at } = domain;
  const contact = contactIdOf(registrant);
  const { domain: unicode } = toUnicode(name);
  const statuses = domain.statuses.filter((status) => STATUSES.has(status));
  return element('rdeDomain:domain', [
    textElement('rdeDomain:name', name),
    textElement('rdeDomain:roid', roid),
    textElement('rdeDomain:uName', unicode === name ? undefined : unicode),
    ...(statuses.length === 0 ? ['ok'] : statuses).map((s) => element('rdeDomain:status', [], { s })),
    ...domain.statuses
      .filter((status) => GRACE_PERIODS.has(status))
      .map((s) => element('rdeDomain:rgpStatus', [], { s })),
    textElement('rdeDomain:registrant', contact),
    ...['admin', 'tech', 'billing'].map((type) => textElement('rdeDomain:contact', contact, { type })),
    nameserversXml(domain),
    textElement('rdeDomain:clID', registrarId),
    textElement('rdeDomain:crDate', createdAt ?? undefined),
    textElement('rdeDomain:exDate', expiresAt ?? undefined),
    textElement('rdeDomain:upDate', at ?? undefined),
    secDnsXml(domain),
  ]);
}

/** As attributes, as names outside of ours have no objects; those below the name with their addresses. */
function nameserversXml({ hosts, nameservers }: DepositedDomain): string {
  if (nameservers.length === 0) return '';
  const addressesOf = (nameserver: string) => hosts.find(({ name }) => name === nameserver)?.addresses ?? [];
  const attributes = nameservers.map((name) =>
    element('domain:hostAttr', [
      textElement('domain:hostName', name),
      ...addressesOf(name).map((address) => textElement('domain:hostAddr', address, { ip: versionOf(address) })),
    ]),
  );
  return element('rdeDomain:ns', attributes);
}

function versionOf(address: string): 'v4' | 'v6' {
  return isIPv6(address) ? 'v6' : 'v4';
}

/** A host below a name, whoever uses it. */
export function hostXml({ addresses, name }: DepositedHost, registrarId: string): string {
  return element('rdeHost:host', [
    textElement('rdeHost:name', name),
    textElement('rdeHost:roid', `${idOf('IH', name)}-IC`),
    element('rdeHost:status', [], { s: 'ok' }),
    ...addresses.map((address) => textElement('rdeHost:addr', address, { ip: versionOf(address) })),
    textElement('rdeHost:clID', registrarId),
  ]);
}

function secDnsXml({ ds_records: records }: DepositedDomain): string {
  if (records.length === 0) return '';
  const data = records.map((record) =>
    element('secDNS:dsData', [
      textElement('secDNS:keyTag', String(record.key_tag)),
      textElement('secDNS:alg', String(record.algorithm)),
      textElement('secDNS:digestType', String(record.digest_type)),
      textElement('secDNS:digest', record.digest),
    ]),
  );
  return element('rdeDomain:secDNS', data);
}

export function isIncomplete({ city, country }: DepositedContact): boolean {
  return city === '' || country === '';
}

export function contactXml(contact: DepositedContact, registrarId: string): string {
  const { city, country, created_at: createdAt, email, handle, name, organization, phone, region, street } = contact;
  const texts = [name, organization, street, city, region, contact.postal_code].join('');
  const address = element('contact:addr', [
    ...street
      .split('\n')
      .slice(0, 3)
      .map((line) => textElement('contact:street', line)),
    textElement('contact:city', city === '' ? UNKNOWN.city : city),
    textElement('contact:sp', region),
    textElement('contact:pc', contact.postal_code),
    textElement('contact:cc', country === '' ? UNKNOWN.country : country.toUpperCase()),
  ]);
  const postal = [textElement('contact:name', name === '' ? email : name), textElement('contact:org', organization)];
  const id = contactIdOf(handle);
  return element('rdeContact:contact', [
    textElement('rdeContact:id', id),
    textElement('rdeContact:roid', `${id}-IC`),
    element('rdeContact:status', [], { s: 'linked' }),
    // RFC 5733 2.6: the international form is ASCII.
    element('rdeContact:postalInfo', [...postal, address], { type: /^[\x20-\x7e]*$/.test(texts) ? 'int' : 'loc' }),
    textElement('rdeContact:voice', PHONE.test(phone) ? phone : undefined),
    textElement('rdeContact:email', email),
    textElement('rdeContact:clID', registrarId),
    textElement('rdeContact:crDate', createdAt),
  ]);
}

export function registrarXml(registrar: DepositingRegistrar): string {
  const { email, ianaId, name, phone = '', url } = registrar;
  return element('rdeRegistrar:registrar', [
    textElement('rdeRegistrar:id', registrarIdOf(registrar)),
    textElement('rdeRegistrar:name', name),
    textElement('rdeRegistrar:gurid', ianaId),
    textElement('rdeRegistrar:status', 'ok'),
    textElement('rdeRegistrar:voice', PHONE.test(phone) ? phone : undefined),
    textElement('rdeRegistrar:email', email),
    textElement('rdeRegistrar:url', url),
  ]);
}
