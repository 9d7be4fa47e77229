/** A name of ours as RDAP shows it (RFC 9083, section 5.3). */
import { toUnicode } from 'tr46';
import type { RegistryDomain } from '../../registry/registry.ts';
import { selfLink } from './answers.ts';
import type { RegistrarIdentity } from './registrar-identity.ts';
import { type PublishedRegistrant, REDACTED, renderRegistrant, renderRegistrar } from './render-entities.ts';

export interface PublishedDomain {
  readonly info: RegistryDomain;
  readonly syncedAt: Date | null;
  readonly registrant: PublishedRegistrant;
}

interface Place {
  readonly registrar: RegistrarIdentity;
  /** Of the operations of RDAP: `https://…/rdap`. */
  readonly baseUrl: string;
}

export function renderDomain({ info, registrant, syncedAt }: PublishedDomain, { baseUrl, registrar }: Place) {
  const { name } = info;
  const { domain: unicodeName } = toUnicode(name);
  return {
    objectClassName: 'domain',
    handle: info.registryId,
    ldhName: name,
    ...(unicodeName === name ? {} : { unicodeName }),
    status: [...new Set(info.statuses.map(statusOf))],
    events: [
      { eventAction: 'registration', eventDate: info.createdAt },
      { eventAction: 'expiration', eventDate: info.expiresAt },
      ...(info.updatedAt === null ? [] : [{ eventAction: 'last changed', eventDate: info.updatedAt }]),
      ...(syncedAt === null
        ? []
        : [{ eventAction: 'last update of RDAP database', eventDate: syncedAt.toISOString() }]),
    ],
    nameservers: info.nameservers.map((ldhName) => ({ objectClassName: 'nameserver', ldhName })),
    secureDNS: secureDns(info),
    entities: [renderRegistrant(registrant, info.isPrivate), renderRegistrar(registrar)],
    links: [selfLink(`${baseUrl}/domain/${name}`)],
    notices: noticesOf(registrar),
    ...(info.isPrivate ? { redacted: REDACTED } : {}),
  };
}

export function noticesOf({ url }: RegistrarIdentity) {
  const notices = [
    {
      title: 'Status Codes',
      description: ['What the status codes of domain names mean.'],
      links: [{ value: 'https://icann.org/epp', rel: 'glossary', href: 'https://icann.org/epp', type: 'text/html' }],
    },
  ];
  if (url === undefined) return notices;
  const terms = { value: url, rel: 'about', href: url, type: 'text/html' };
  return [...notices, { title: 'Registrar', description: ['Who this answer is from, and its terms.'], links: [terms] }];
}

/** EPP and RDAP call these otherwise; all the rest is written in words (RFC 8056, section 2). */
const OTHER_STATUSES: Readonly<Record<string, string>> = { ok: 'active', linked: 'associated' };

function statusOf(status: string): string {
  return OTHER_STATUSES[status] ?? status.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function secureDns({ dsRecords }: RegistryDomain) {
  if (dsRecords.length === 0) return { delegationSigned: false };
  return { delegationSigned: true, dsData: dsRecords.map((record) => ({ ...record })) };
}
