/** check and info. */
import ipaddr from 'ipaddr.js';
import { type Deadline, startDeadline } from '../../deadline.ts';
import { isBelow } from '../host-steps.ts';
import type {
  Availability,
  LaunchPhaseName,
  ReadOptions,
  RegistryDomain,
  RegistryFee,
  RegistryHost,
  RegistryTransfer,
} from '../registry.ts';
import { isSuccess, NOT_AUTHORIZED, OBJECT_DOES_NOT_EXIST } from '../result-codes.ts';
import { type ContactData, readContactData } from './commands/contact.ts';
import type { ContactReference } from './commands/domain-items.ts';
import {
  type CheckResult,
  type DomainData,
  readCheckResults,
  readDomainData,
  readTransfer,
} from './commands/domain-results.ts';
import { isFee, readFeeAnswers, splitQuestion } from './commands/fee.ts';
import type { FeeCommand, FeeQuestion } from './commands/fee-values.ts';
import { readHostData } from './commands/host.ts';
import { findData, type Response, requireData } from './commands/response.ts';
import { readRgpStatuses } from './commands/rgp.ts';
import { canonicalName } from './commands/same-object.ts';
import { readDsRecords } from './commands/sec-dns.ts';
import { pricedPhaseOf, readLaunchDemands } from './launch-phase.ts';
import { CONTACT, DOMAIN, HOST, SEC_DNS } from './namespaces.ts';
import { describeRefusal, isRegistryError, refusalOf } from './outcomes.ts';
import { holderOf } from './registrant-contact.ts';
import type { RegistryLink } from './registry-link.ts';

/** In the order of the names; those of a batch that failed are `unknown`. Never throws. */
export async function checkNames(
  link: RegistryLink,
  names: readonly string[],
  { timeoutMs = link.rules.checkTimeoutMs, onlyAvailability = false }: ReadOptions = {},
): Promise<Availability[]> {
  const size = link.rules.checkBatchSize;
  const groups = link
    .bySubProduct(names)
    .flatMap(({ link, names }) => byPricedPhase(link, names).map((group) => ({ link, ...group })));
  const batches = groups.flatMap(({ names, ...group }) =>
    Array.from({ length: Math.ceil(names.length / size) }, (_, index) => ({
      ...group,
      names: names.slice(index * size, (index + 1) * size),
    })),
  );
  const found = await Promise.all(
    batches.map((batch) => checkBatch(batch, startDeadline(timeoutMs), onlyAvailability)),
  );
  const byName = new Map(found.flat().map((item) => [item.name, item]));
  return names.map((name) => byName.get(name) ?? { name, availability: 'unknown' });
}

interface Batch {
  readonly link: RegistryLink;
  readonly names: readonly string[];
  /** In which registrations of them are priced. */
  readonly phase: LaunchPhaseName | undefined;
}

/** One question has one price of a registration, and so one phase. */
function byPricedPhase(link: RegistryLink, names: readonly string[]): Omit<Batch, 'link'>[] {
  const groups = Map.groupBy(names, (name) => JSON.stringify(pricedPhaseOf(link, name)));
  return [...groups.values()].map((names) => ({ names, phase: pricedPhaseOf(link, names[0] ?? '') }));
}

async function checkBatch(
  { link, names, phase }: Batch,
  deadline: Deadline,
  onlyAvailability: boolean,
): Promise<Availability[]> {
  try {
    const rules = onlyAvailability ? undefined : link.rules.fees;
    const uri = rules === undefined ? undefined : await link.feeUri(deadline.leftMs);
    const ask = (fees?: FeeQuestion) =>
      link.askRepeatable({ kind: 'domain:check', names, fees }, undefined, deadline.leftMs);
    const question =
      uri === undefined ? undefined : { uri, currency: rules?.currency, commands: yearlyCommands(phase) };
    const [first, ...further] = question === undefined ? [] : splitQuestion(question);
    let response = await ask(first);
    const answers = [response];
    // Some refuse all of it for a currency, or a command, that they do not price.
    if (first !== undefined && !isSuccess(response.code)) response = await ask();
    else for (const question of further) answers.push(await ask(question));
    if (!isSuccess(response.code)) return names.map((name) => unknown(name, describeRefusal(response)));
    const fees = feesIn(answers, rules?.currency);
    const found = readCheckResults(requireData(response, DOMAIN, 'chkData'), 'name').map((result) =>
      availabilityOf(result, fees.get(canonicalName(result.value))),
    );
    return onlyAvailability ? found : await withLaunchDemands(link, found, deadline);
  } catch (error) {
    if (!isRegistryError(error)) throw error;
    return names.map((name) => unknown(name, error.message));
  }
}

/** What is free may be bound to conditions. Throws what asking throws. */
async function withLaunchDemands(
  link: RegistryLink,
  found: readonly Availability[],
  deadline: Deadline,
): Promise<Availability[]> {
  const free = found.filter(({ availability }) => availability === 'available').map(({ name }) => name);
  const demands = await readLaunchDemands(link, free, deadline.leftMs);
  return found.map((one) => {
    const launch = demands[free.indexOf(one.name)];
    return launch === undefined || launch.kind === 'none' ? one : { ...one, launch };
  });
}

function yearlyCommands(phase: LaunchPhaseName | undefined): FeeQuestion['commands'] {
  return [
    { name: 'create', years: 1, ...(phase && { phase }) },
    { name: 'renew', years: 1 },
    { name: 'transfer', years: 1 },
  ];
}

function unknown(name: string, reason: string): Availability {
  return { name, availability: 'unknown', reason };
}

function availabilityOf({ value, available, reason }: CheckResult, fees: Availability['fees']): Availability {
  const name = canonicalName(value);
  const isReserved = reason !== undefined && /reserv|block|prohibit|invalid|not served/i.test(reason);
  return {
    name,
    // The standard has words for why, and no code.
    availability: available ? 'available' : isReserved ? 'reserved' : 'taken',
    ...(reason === undefined ? {} : { reason }),
    ...(fees === undefined ? {} : { fees }),
  };
}

type NamedFees = Partial<Record<FeeCommand, RegistryFee>>;

/** What these answers to checks say of each name. One that does not say in which currency has the one that was asked for. */
function feesIn(responses: readonly Response[], asked = ''): Map<string, NamedFees> {
  const found = new Map<string, NamedFees>();
  for (const { extensions } of responses) {
    const data = extensions.find(({ uri, local }) => isFee(uri) && local === 'chkData');
    for (const { name: answered, category, commands } of data === undefined ? [] : readFeeAnswers(data)) {
      const name = canonicalName(answered);
      const fees: NamedFees = found.get(name) ?? {};
      found.set(name, fees);
      for (const { amountCents, currency = asked, isStandard, name: command } of commands) {
        const isPremium = category !== undefined && /premium/i.test(category) ? true : negated(isStandard);
        if (amountCents === undefined) continue;
        fees[command] = {
          currency: currency.toUpperCase(),
          cents: amountCents,
          ...(isPremium === undefined ? {} : { isPremium }),
        };
      }
    }
  }
  return found;
}

function negated(value: boolean | undefined): boolean | undefined {
  return value === undefined ? undefined : !value;
}

/** Undefined: the registry does not use the extension, or has no such price. Throws what asking throws. */
export async function askFee(
  link: RegistryLink,
  name: string,
  command: FeeCommand,
  years: number,
): Promise<RegistryFee | undefined> {
  const { checkTimeoutMs, fees, termsTimeoutMs } = link.rules;
  const timeoutMs = Math.min(checkTimeoutMs, termsTimeoutMs);
  const uri = fees === undefined ? undefined : await link.feeUri(timeoutMs);
  if (uri === undefined) return undefined;
  const phase = command === 'create' ? pricedPhaseOf(link, name) : undefined;
  const key = `${command} ${years} ${name} ${JSON.stringify(phase)}`;
  const recalled = link.fees.get(key);
  if (recalled !== undefined) return recalled;
  const question = { uri, currency: fees?.currency, commands: [{ name: command, years, ...(phase && { phase }) }] };
  const response = await link.askRepeatable(
    { kind: 'domain:check', names: [name], fees: question },
    undefined,
    timeoutMs,
  );
  if (response.code >= INTERNAL_FAILURE) throw refusalOf(response);
  const fee = feesIn([response], fees?.currency).get(name)?.[command];
  if (fee !== undefined) link.fees.set(key, fee);
  return fee;
}

/** 24xx and 25xx say nothing of what was asked. */
const INTERNAL_FAILURE = 2400;

/** A name with what EPP shows beyond the port's data. */
export interface DomainAtRegistry {
  readonly domain: RegistryDomain;
  readonly registrant: string | undefined;
  readonly contacts: readonly ContactReference[];
  /** The registrant's, of a name of ours where it is of use. */
  readonly contact: ContactData | undefined;
  readonly rgpStatuses: readonly string[];
}

/** Undefined: there is no such name. Throws what asking throws, and `RegistryUnavailable` for other refusals. */
export async function infoDomain(
  link: RegistryLink,
  name: string,
  { timeoutMs, withHosts = false }: ReadOptions = {},
): Promise<DomainAtRegistry | undefined> {
  const deadline = timeoutMs === undefined ? undefined : startDeadline(timeoutMs);
  const response = await link.askRepeatable({ kind: 'domain:info', name }, undefined, deadline?.leftMs);
  if (response.code === OBJECT_DOES_NOT_EXIST) return undefined;
  if (response.code === NOT_AUTHORIZED) return ofAnother(name);
  if (!isSuccess(response.code)) throw refusalOf(response);
  const data = { ...readDomainData(requireData(response, DOMAIN, 'infData')), name };
  const isOurs = data.sponsor === link.rules.clientId;
  const contact = isOurs ? await readContact(link, data.registrant, deadline) : undefined;
  const rgpStatuses = readRgpStatuses(response.extensions);
  const dnssec = response.extensions.find(({ uri, local }) => uri === SEC_DNS && local === 'infData');
  return {
    registrant: data.registrant,
    contacts: data.contacts,
    contact,
    rgpStatuses,
    domain: {
      ...plainDomain(data),
      isOurs,
      ...(data.registrant === undefined ? {} : { registrantId: data.registrant }),
      // pendingDelete is a status of both mappings.
      statuses: [...new Set([...data.statuses, ...rgpStatuses])],
      ...(withHosts && isOurs ? { hosts: await hostsBelow(link, data, deadline) } : {}),
      dsRecords: readDsRecords(dnssec, name),
      isPrivate: isOurs && isDataPrivate(link, contact),
      ...(contact !== undefined && link.rules.tradeUri !== undefined ? { holder: holderOf(contact) } : {}),
    },
  };
}

/** Objects are asked for one by one; attributes have come with the name. */
async function hostsBelow(
  link: RegistryLink,
  { name, nameservers, subordinateHosts }: DomainData,
  deadline: Deadline | undefined,
): Promise<RegistryHost[]> {
  const found: RegistryHost[] = [];
  if (link.rules.nameserverModel === 'hostAttr') {
    for (const host of nameservers?.names ?? []) {
      const addresses = nameservers?.addresses?.[host] ?? [];
      if (isBelow(host, name)) found.push({ name: host, addresses: canonical(addresses) });
    }
  } else {
    for (const host of subordinateHosts.map(canonicalName)) {
      if (!isBelow(host, name)) continue;
      const response = await link.askRepeatable({ kind: 'host:info', name: host }, undefined, deadline?.leftMs);
      if (response.code === OBJECT_DOES_NOT_EXIST) continue;
      if (!isSuccess(response.code)) throw refusalOf(response);
      const { addresses } = readHostData(requireData(response, HOST, 'infData'));
      found.push({ name: host, addresses: canonical(addresses) });
    }
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Registries write an address as they like. */
function canonical(addresses: readonly string[]): string[] {
  return addresses.map((text) => (ipaddr.isValid(text) ? ipaddr.parse(text).toString() : text)).sort();
}

function plainDomain(data: DomainData) {
  return {
    name: data.name,
    registryId: data.roid,
    ...(data.createdAt === undefined ? {} : { createdAt: data.createdAt }),
    updatedAt: data.updatedAt ?? null,
    ...(data.expiresAt === undefined ? {} : { expiresAt: data.expiresAt }),
    nameservers: [...(data.nameservers?.names ?? [])].sort(),
  };
}

/** The registry says no more than that it is there and not ours. */
function ofAnother(name: string): DomainAtRegistry {
  const domain: RegistryDomain = {
    name,
    registryId: '',
    isOurs: false,
    statuses: [],
    updatedAt: null,
    nameservers: [],
    dsRecords: [],
    isPrivate: false,
  };
  return { domain, registrant: undefined, contacts: [], contact: undefined, rgpStatuses: [] };
}

/** Codes of registries that have no transfer of the name, or do not tell us of it. */
export const NO_TRANSFER: readonly number[] = [2101, 2102, 2201, 2301, 2303, 2304, 2306];

/** Throws what asking throws, and `RegistryUnavailable` for other refusals. */
export async function queryTransfer(link: RegistryLink, name: string): Promise<RegistryTransfer | undefined> {
  const response = await link.askRepeatable({ kind: 'domain:transfer', operation: 'query', name });
  if (NO_TRANSFER.includes(response.code)) return undefined;
  if (!isSuccess(response.code)) throw refusalOf(response);
  const { status, requestedBy, requestedAt, actedAt, expiresAt } = readTransfer(
    requireData(response, DOMAIN, 'trnData'),
  );
  return {
    isOurs: requestedBy === link.rules.clientId,
    state: TRANSFER_STATES[status] ?? 'cancelled',
    requestedBy,
    requestedAt: new Date(requestedAt).toISOString(),
    actsAt: new Date(actedAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** RFC 5730 2.9.3.4. */
const TRANSFER_STATES: Readonly<Record<string, RegistryTransfer['state']>> = {
  pending: 'pending',
  clientApproved: 'approved',
  serverApproved: 'approved',
  clientRejected: 'rejected',
  clientCancelled: 'cancelled',
  serverCancelled: 'cancelled',
};

/** A registry that knows nothing of the registrant shows nothing either. */
function isDataPrivate({ rules: { contactModel } }: RegistryLink, contact: ContactData | undefined): boolean {
  return contactModel === 'none' || (contactModel === 'objects' && contact?.disclose === false);
}

/** Undefined: it says nothing that is of use, or is not ours to see, such as a former registrar's, which was not hidden by us. */
async function readContact(
  link: RegistryLink,
  id: string | undefined,
  deadline: Deadline | undefined,
): Promise<ContactData | undefined> {
  if (id === undefined || !readsContacts(link.rules)) return undefined;
  const response = await link.askRepeatable({ kind: 'contact:info', id }, undefined, deadline?.leftMs);
  if (response.code === OBJECT_DOES_NOT_EXIST || response.code === NOT_AUTHORIZED) return undefined;
  if (!isSuccess(response.code)) throw refusalOf(response);
  const data = findData(response, CONTACT, 'infData');
  return data === undefined ? undefined : { ...readContactData(data), id };
}

/** Whether an object of the registrant's own says something of its name: that it is hidden, or whom it is traded from. */
export function readsContacts({
  contactModel,
  tradeUri,
}: Pick<RegistryLink['rules'], 'contactModel' | 'tradeUri'>): boolean {
  return contactModel === 'objects' || (contactModel === 'no_disclose' && tradeUri !== undefined);
}
