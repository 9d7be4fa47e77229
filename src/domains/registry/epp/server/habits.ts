/** What registries do otherwise than this one by itself: without contacts, without disclosure, with hosts as attributes, with keys or without DNSSEC. */
import { createHash } from 'node:crypto';
import { isBelow } from '../../host-steps.ts';
import type { LaunchPhaseName, MarkKind } from '../../registry.ts';
import type { RegistryCore, Session } from '../../simulated/index.ts';
import type { ContactReference, NameserverModel, Nameservers } from '../commands/domain-items.ts';
import type { IdnTable } from '../commands/idn.ts';
import type { DnssecInterface } from '../commands/sec-dns.ts';
import { EppFault } from '../epp-fault.ts';
import {
  ACCOUNT_URIS,
  CHANGE_POLL,
  CONTACT,
  FEE,
  HOST,
  LAUNCH,
  LOGIN_SEC,
  NAME_STORE,
  OBJECT_URIS,
  RGP,
  SEC_DNS,
  SECURE_AUTH_INFO,
} from '../namespaces.ts';
import type { ContactModel } from '../registry-link.ts';

/** A phase of a launch, as this server runs it. */
export interface ServedLaunch {
  readonly zones: readonly string[];
  readonly phase: LaunchPhaseName;
  /** Each create is an application, which the registry decides about later. */
  readonly applications: boolean;
  /** How the holder of a trademark has to show that; undefined: names are for everybody. */
  readonly marks?: MarkKind | undefined;
  /** Whose codes and notices count. Default: the clearinghouse's. */
  readonly validator?: string | undefined;
  /** The code that is right for a name, where codes are wanted. */
  readonly codes?: ReadonlyMap<string, string> | undefined;
  /** What an application costs, beside the registration. */
  readonly applicationCents: number;
  /** Whether that comes back where another has the name. */
  readonly refundsLost: boolean;
}

export interface ServerHabits {
  readonly contacts: ContactModel;
  readonly nameservers: NameserverModel;
  /** What is taken of a name's keys. */
  readonly dnssec: DnssecInterface | 'none';
  /** Registrars can ask for their balance. */
  readonly balance: boolean;
  /** Namespaces of the versions of the fee extension that are spoken. */
  readonly feeUris: readonly string[];
  /** Products by zone: each command has to say for which one it is. Undefined: there is one registry. */
  readonly subProducts?: Readonly<Record<string, string>> | undefined;
  /** Names that trademarks claim, with the keys of their notices: a create of one has to come with an accepted notice. Undefined: nothing is being launched. */
  readonly claims?: ReadonlyMap<string, string> | undefined;
  /** Names of these zones come with a signed mark alone. `applications`: each create is an application, which the registry decides about later. */
  readonly sunrise?: { readonly zones: readonly string[]; readonly applications: boolean } | undefined;
  /** The namespace of the extension by which another holder is a trade. Undefined: it is an update. */
  readonly tradeUri?: string | undefined;
  /** Other phases of launches, each of its zones. */
  readonly launches?: readonly ServedLaunch[] | undefined;
  /** The mapping and the tables in one of which an internationalized name has to be registered. Undefined: it needs none. */
  readonly idn?: { readonly uri: IdnTable['uri']; readonly tables: readonly string[] } | undefined;
}

export const DEFAULT_HABITS: ServerHabits = {
  contacts: 'objects',
  nameservers: 'hostObj',
  dnssec: 'dsData',
  balance: false,
  feeUris: [FEE],
};

export function extensionUrisOf(habits: ServerHabits): string[] {
  const { claims, dnssec, feeUris, idn, launches, subProducts, sunrise, tradeUri } = habits;
  return [
    ...(dnssec === 'none' ? [] : [SEC_DNS]),
    ...[RGP, ...feeUris, LOGIN_SEC, CHANGE_POLL, SECURE_AUTH_INFO],
    ...(subProducts === undefined ? [] : [NAME_STORE]),
    ...(idn === undefined ? [] : [idn.uri]),
    ...(tradeUri === undefined ? [] : [tradeUri]),
    ...(claims === undefined && launches === undefined && sunrise === undefined ? [] : [LAUNCH]),
  ];
}

/** Throws where an internationalized name comes without a table, or in one that there is not. */
export function checkTable({ idn }: ServerHabits, name: string, given: IdnTable | undefined): void {
  if (idn === undefined || !name.startsWith('xn--')) return;
  if (given === undefined) throw new EppFault(2003, 'the name needs an IDN table');
  if (!idn.tables.includes(given.table)) throw new EppFault(2306, `there is no IDN table ${given.table}`);
}

export function objectUrisOf({ balance, contacts, nameservers }: ServerHabits): string[] {
  const uris = balance ? [...OBJECT_URIS, ...ACCOUNT_URIS] : OBJECT_URIS;
  return uris.filter((uri) => (uri !== CONTACT || contacts !== 'none') && (uri !== HOST || nameservers !== 'hostAttr'));
}

/** Throws for data of the other interface (RFC 5910 4: a server has one of them). */
export function requireInterface({ dnssec }: ServerHabits, by: DnssecInterface | undefined): void {
  if (by !== undefined && by !== dnssec) throw new EppFault(2306, `DNSSEC data is taken as ${dnssec}`);
}

interface Parts {
  readonly core: RegistryCore;
  readonly session: Session;
  readonly habits: ServerHabits;
}

/** The names of the hosts, which are there afterwards where the registry makes no objects of them. `name`: whose nameservers they are to be. */
export async function hostNamesOf(
  { core, habits, session }: Parts,
  name: string,
  nameservers: Nameservers | undefined,
): Promise<readonly string[]> {
  const { addresses = {}, model, names } = nameservers ?? { model: habits.nameservers, names: [] };
  if (names.length > 0 && model !== habits.nameservers) {
    const wanted = habits.nameservers === 'hostObj' ? 'host objects (hostObj)' : 'attributes (hostAttr)';
    throw new EppFault(2102, `nameservers are ${wanted} here`);
  }
  if (model === 'hostObj') return names;
  for (const host of names) {
    const own = addresses[host] ?? [];
    if (isBelow(host, name) && own.length === 0) {
      throw new EppFault(2003, `hostAddr: ${host} lies below ${name} and needs an address`);
    }
    if (!isBelow(host, name) && own.length > 0) {
      throw new EppFault(2306, `hostAddr: ${host} does not lie below ${name} and has no addresses here`);
    }
    const reply = await core.nameHost(session, { name: host, addresses: own });
    if (!reply.ok) throw new EppFault(reply.code, reply.reason);
  }
  return names;
}

/** Attributes show what addresses the nameservers below the name have; objects show it themselves. */
export async function addressesBelow(
  { core, habits, session }: Parts,
  name: string,
  nameservers: readonly string[],
): Promise<Pick<Nameservers, 'addresses'>> {
  if (habits.nameservers === 'hostObj') return {};
  const addresses: Record<string, readonly string[]> = {};
  for (const host of nameservers.filter((each) => isBelow(each, name))) {
    const reply = await core.infoHost(session, { name: host });
    if (reply.ok) addresses[host] = reply.data.addresses;
  }
  return { addresses };
}

interface Contacts {
  readonly registrant?: string | undefined;
  readonly contacts: readonly ContactReference[];
}

/** The id of the registrant: of nobody where the registry has no contacts. */
export async function registrantOf({ core, habits, session }: Parts, given: Contacts): Promise<string> {
  if (habits.contacts !== 'none') {
    if (given.registrant === undefined) throw new EppFault(2003, 'registrant is missing');
    return given.registrant;
  }
  if (given.registrant !== undefined || given.contacts.length > 0) {
    throw new EppFault(2306, 'contact: names have no contacts here');
  }
  const digest = createHash('sha256').update(session.registrarId).digest('hex');
  const id = `NOBODY${digest.slice(0, 10).toUpperCase()}`;
  const postalInfo = [{ type: 'int', name: 'Nobody', street: [], city: 'Nowhere', country: 'ZZ' }] as const;
  const email = 'nobody@registry.example';
  await core.createContact(session, { id, postalInfo, email, authInfo: digest.slice(0, 20), disclose: false });
  return id;
}
