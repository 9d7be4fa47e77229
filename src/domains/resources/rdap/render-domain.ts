/** A name of ours as RDAP shows it (RFC 9083, section 5.3). */
import { toUnicode } from 'tr46';
import type { RegistryDomain } from '../../registry/registry.ts';
import { selfLink } from './answers.ts';
import { inaccuracyNotice, registrarNotices, statusCodesNotice } from './notices.ts';
import { redactedOf } from './redaction.ts';
import type { RdapIdentity } from './registrar-identity.ts';
import { type PublishedRegistrant, renderRegistrant, renderRegistrar } from './render-entities.ts';

export interface PublishedDomain {
  readonly info: RegistryDomain;
  readonly syncedAt: Date | null;
  /** Null: to the end of its term. */
  readonly paidUntil: Date | null;
  readonly registrant: PublishedRegistrant;
}

interface Place {
  readonly registrar: RdapIdentity;
  /** Of the operations of RDAP: `https://…/rdap`. */
  readonly baseUrl: string;
  /** The name as it was asked for. */
  readonly askedName: string;
}

export function renderDomain(found: PublishedDomain, { askedName, baseUrl, registrar }: Place) {
  const { info, paidUntil, registrant, syncedAt } = found;
  const { isPrivate, name } = info;
  const { domain: unicodeName } = toUnicode(name);
  const asked = `${baseUrl}/domain/${encodeURIComponent(askedName)}`;
  const ofProfile = followsProfile(registrar, name);
  const publication = { isPrivate, showsRegion: ofProfile, contactUri: registrar.registrant_contact };
  return {
    objectClassName: 'domain',
    handle: info.registryId,
    ldhName: name,
    ...(unicodeName === name ? {} : { unicodeName }),
    status: statusesOf(info),
    events: [
      ...eventOf('registration', info.createdAt),
      ...eventOf('expiration', info.expiresAt),
      ...eventOf('registrar expiration', paidUntil?.toISOString() ?? info.expiresAt),
      ...eventOf('last changed', info.updatedAt),
      ...eventOf('last update of RDAP database', syncedAt?.toISOString()),
    ],
    nameservers: info.nameservers.map((ldhName) => ({ objectClassName: 'nameserver', ldhName })),
    secureDNS: secureDns(info),
    entities: [renderRegistrant(registrant, publication), renderRegistrar(registrar, baseUrl)],
    links: [{ ...selfLink(`${baseUrl}/domain/${name}`), value: asked }],
    notices: [
      statusCodesNotice(asked),
      ...(ofProfile ? [inaccuracyNotice(asked)] : []),
      ...registrarNotices(registrar, asked),
    ],
    redacted: redactedOf(publication),
  };
}

/** None of what is not known. */
function eventOf(eventAction: string, eventDate: string | null | undefined) {
  return eventDate == null ? [] : [{ eventAction, eventDate }];
}

/** Whether the answer has all that ICANN's profile demands, where that is to be followed: dates, and of a registrant who publishes everything, an address and a phone. */
export function meetsProfile({ info, registrant, syncedAt }: PublishedDomain, registrar: RdapIdentity): boolean {
  if (!followsProfile(registrar, info.name) || syncedAt === null) return false;
  if (info.createdAt === undefined || info.expiresAt === undefined) return false;
  const { city, country, phone, postal_code: postalCode, street } = registrant.contact;
  return Boolean(country && (info.isPrivate || (registrant.name && street && city && postalCode && phone)));
}

/** Country codes are no business of ICANN's contracts. */
function followsProfile({ icann_profile: isWanted = false }: RdapIdentity, name: string): boolean {
  return isWanted && !/\.[a-z]{2}$/.test(name);
}

/** EPP and RDAP call these otherwise; all the rest is written in words (RFC 8056, section 2). */
const OTHER_STATUSES = { ok: 'active', linked: 'associated' } as const;

/** Grace periods stand beside `ok` in EPP; here it is for names that have nothing else (profile, section 2.6.1). */
function statusesOf({ statuses }: RegistryDomain): string[] {
  const told = [...new Set(statuses.map(statusOf))];
  return told.length > 1 ? told.filter((status) => status !== OTHER_STATUSES.ok) : told;
}

function statusOf(status: string): string {
  if (status === 'ok' || status === 'linked') return OTHER_STATUSES[status];
  return status.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function secureDns({ dsRecords }: RegistryDomain) {
  if (dsRecords.length === 0) return { delegationSigned: false };
  const dsData = dsRecords.map(({ algorithm, digest, digestType, keyTag }) => {
    return { keyTag, algorithm, digest, digestType };
  });
  return { delegationSigned: true, dsData };
}
