/** check and info. */
import { type Deadline, startDeadline } from '../../deadline.ts';
import type { Availability, ReadOptions, RegistryDomain, RegistryTransfer } from '../registry.ts';
import { isSuccess, NOT_AUTHORIZED, OBJECT_DOES_NOT_EXIST } from '../result-codes.ts';
import { readContactData } from './commands/contact.ts';
import {
  type CheckResult,
  type DomainData,
  readCheckResults,
  readDomainData,
  readTransfer,
} from './commands/domain-results.ts';
import { formatAmount, readFeeAnswers } from './commands/fee.ts';
import { findData, type Response, requireData } from './commands/response.ts';
import { readRgpStatuses } from './commands/rgp.ts';
import { readDsRecords } from './commands/sec-dns.ts';
import { CONTACT, DOMAIN, FEE, SEC_DNS } from './namespaces.ts';
import { describeRefusal, isRegistryError, refusalOf } from './outcomes.ts';
import type { RegistryLink } from './registry-link.ts';

/** In the order of the names; those of a batch that failed are `unknown`. Never throws. */
export async function checkNames(
  link: RegistryLink,
  names: readonly string[],
  { timeoutMs = link.rules.checkTimeoutMs }: ReadOptions = {},
): Promise<Availability[]> {
  const size = link.rules.checkBatchSize;
  const batches = Array.from({ length: Math.ceil(names.length / size) }, (_, index) =>
    names.slice(index * size, (index + 1) * size),
  );
  const found = await Promise.all(batches.map((batch) => checkBatch(link, batch, startDeadline(timeoutMs))));
  const byName = new Map(found.flat().map((item) => [item.name, item]));
  return names.map((name) => byName.get(name) ?? { name, availability: 'unknown' });
}

async function checkBatch(link: RegistryLink, names: readonly string[], deadline: Deadline): Promise<Availability[]> {
  try {
    const { fees } = link.rules;
    const asksFees = fees !== undefined && (await link.supports(FEE, deadline.leftMs));
    const question = asksFees
      ? { currency: fees.currency, commands: [{ name: 'create', years: 1 } as const] }
      : undefined;
    const response = await link.askRepeatable(
      { kind: 'domain:check', names, fees: question },
      undefined,
      deadline.leftMs,
    );
    if (!isSuccess(response.code)) return names.map((name) => unknown(name, describeRefusal(response)));
    const premiums = asksFees ? premiumsOf(link, response) : new Map<string, string>();
    return readCheckResults(requireData(response, DOMAIN, 'chkData'), 'name').map((result) =>
      availabilityOf(result, premiums),
    );
  } catch (error) {
    if (!isRegistryError(error)) throw error;
    return names.map((name) => unknown(name, error.message));
  }
}

function unknown(name: string, reason: string): Availability {
  return { name, availability: 'unknown', reason };
}

function availabilityOf(
  { value, available, reason }: CheckResult,
  premiums: ReadonlyMap<string, string>,
): Availability {
  const name = value.toLowerCase();
  const premium = premiums.get(name);
  if (available && premium !== undefined) return { name, availability: 'reserved', reason: premium };
  if (available) return { name, availability: 'available' };
  // The standard has words for why, and no code.
  const availability =
    reason !== undefined && /reserv|block|prohibit|invalid|not served/i.test(reason) ? 'reserved' : 'taken';
  return reason === undefined ? { name, availability } : { name, availability, reason };
}

/** Names that cost more than our price for them allows: at that price they are not available. */
function premiumsOf(link: RegistryLink, response: Response): Map<string, string> {
  const { fees } = link.rules;
  const data = response.extensions.find(({ uri, local }) => uri === FEE && local === 'chkData');
  if (data === undefined || fees === undefined) return new Map();
  const entries = readFeeAnswers(data).flatMap(({ name, commands }): [string, string][] => {
    const asked = commands.find((command) => command.name === 'create')?.amountCents;
    const expected = fees.amountCents('create', name, 1);
    if (asked === undefined || expected === undefined || asked <= expected) return [];
    return [[name, `premium name: the registry asks ${formatAmount(asked)} ${fees.currency}`]];
  });
  return new Map(entries);
}

/** A name with what EPP shows beyond the port's data. */
export interface DomainAtRegistry {
  readonly domain: RegistryDomain;
  readonly registrant: string | undefined;
  readonly rgpStatuses: readonly string[];
}

/** For the dates that a registry does not show of another registrar's name. */
const NO_DATE = new Date(0).toISOString();

/** Undefined: there is no such name. Throws what asking throws, and `RegistryUnavailable` for other refusals. */
export async function infoDomain(
  link: RegistryLink,
  name: string,
  { timeoutMs }: ReadOptions = {},
): Promise<DomainAtRegistry | undefined> {
  const deadline = timeoutMs === undefined ? undefined : startDeadline(timeoutMs);
  const response = await link.askRepeatable({ kind: 'domain:info', name }, undefined, deadline?.leftMs);
  if (response.code === OBJECT_DOES_NOT_EXIST) return undefined;
  if (response.code === NOT_AUTHORIZED) return ofAnother(name);
  if (!isSuccess(response.code)) throw refusalOf(response);
  const data = readDomainData(requireData(response, DOMAIN, 'infData'));
  const isOurs = data.sponsor === link.rules.clientId;
  const isPrivate =
    isOurs && data.registrant !== undefined && (await isContactPrivate(link, data.registrant, deadline));
  const rgpStatuses = readRgpStatuses(response.extensions);
  const dnssec = response.extensions.find(({ uri, local }) => uri === SEC_DNS && local === 'infData');
  return {
    registrant: data.registrant,
    rgpStatuses,
    domain: {
      ...plainDomain(data),
      isOurs,
      // pendingDelete is a status of both mappings.
      statuses: [...new Set([...data.statuses, ...rgpStatuses])],
      dsRecords: readDsRecords(dnssec),
      isPrivate,
    },
  };
}

function plainDomain(data: DomainData) {
  return {
    name: data.name,
    registryId: data.roid,
    createdAt: data.createdAt ?? NO_DATE,
    updatedAt: data.updatedAt ?? null,
    expiresAt: data.expiresAt ?? NO_DATE,
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
    createdAt: NO_DATE,
    updatedAt: null,
    expiresAt: NO_DATE,
    nameservers: [],
    dsRecords: [],
    isPrivate: false,
  };
  return { domain, registrant: undefined, rgpStatuses: [] };
}

/** Codes of registries that have no transfer of the name, or do not tell us of it. */
const NO_TRANSFER: readonly number[] = [2101, 2102, 2201, 2301, 2303, 2304, 2306];

/** Throws what asking throws, and `RegistryUnavailable` for other refusals. */
export async function queryTransfer(link: RegistryLink, name: string): Promise<RegistryTransfer | undefined> {
  const response = await link.askRepeatable({ kind: 'domain:transfer', operation: 'query', name });
  if (NO_TRANSFER.includes(response.code)) return undefined;
  if (!isSuccess(response.code)) throw refusalOf(response);
  const { status, requestedBy, requestedAt, actedAt } = readTransfer(requireData(response, DOMAIN, 'trnData'));
  return {
    isOurs: requestedBy === link.rules.clientId,
    state: TRANSFER_STATES[status] ?? 'cancelled',
    requestedBy,
    requestedAt: new Date(requestedAt).toISOString(),
    actsAt: new Date(actedAt).toISOString(),
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

async function isContactPrivate(link: RegistryLink, id: string, deadline?: Deadline): Promise<boolean> {
  const response = await link.askRepeatable({ kind: 'contact:info', id }, undefined, deadline?.leftMs);
  // One that is not ours to see, such as a former registrar's, was not hidden by us.
  if (response.code === OBJECT_DOES_NOT_EXIST || response.code === NOT_AUTHORIZED) return false;
  if (!isSuccess(response.code)) throw refusalOf(response);
  const data = findData(response, CONTACT, 'infData');
  return data !== undefined && readContactData(data).disclose === false;
}
