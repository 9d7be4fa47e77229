/** create, renew, transfer, delete and restore. Each throws what asking throws; see `settle`. */
import { hostSteps, isBelow } from '../host-steps.ts';
import type {
  CreateCommand,
  DecideCommand,
  MutationOutcome,
  RenewCommand,
  RestoreCommand,
  TransferCommand,
} from '../registry.ts';
import { isSuccess, OBJECT_DOES_NOT_EXIST, OBJECT_EXISTS } from '../result-codes.ts';
import { zoneOf } from '../routing-registry.ts';
import { type Step, takeSteps } from '../take-steps.ts';
import { CommandNotSent } from './client/errors.ts';
import type { DomainUpdateCommand } from './commands/domain-commands.ts';
import type { DomainItems } from './commands/domain-items.ts';
import { readCreatedDomain, readRenewedDomain, readTransfer } from './commands/domain-results.ts';
import { findApplication } from './commands/launch.ts';
import { findData } from './commands/response.ts';
import { readRgpStatuses } from './commands/rgp.ts';
import { ensureHosts, hostCommands } from './ensure-hosts.ts';
import { chooseTable } from './idn-tables.ts';
import { launchDataOf } from './launch-phase.ts';
import { DOMAIN, RGP } from './namespaces.ts';
import { isRegistryError, rejected } from './outcomes.ts';
import { type DomainAtRegistry, infoDomain } from './read-domains.ts';
import { ensureContact } from './registrant-contact.ts';
import { contactReferences, mintAuthInfo, type RegistryLink, transactionIdOf } from './registry-link.ts';

interface NamedCommand {
  readonly name: string;
  readonly transactionId: string;
}

export async function createDomain(link: RegistryLink, command: CreateCommand): Promise<MutationOutcome> {
  const sending = { hasBegun: false };
  try {
    return await sendCreate(link, command, sending);
  } catch (error) {
    // One that may have arrived is not repeated, as there may be two then: it is worth knowing that it has not.
    const isUnsent = !sending.hasBegun || error instanceof CommandNotSent;
    const isApplication = command.application !== undefined || command.signedMark !== undefined;
    if (!isApplication || !isUnsent || !isRegistryError(error)) throw error;
    return { kind: 'unknown', reason: `not sent: ${error.message}`, isUnsent: true };
  }
}

async function sendCreate(
  link: RegistryLink,
  command: CreateCommand,
  sending: { hasBegun: boolean },
): Promise<MutationOutcome> {
  const { name, years, nameservers, transactionId } = command;
  const { contactTypes, nameserverModel } = link.rules;
  const table = chooseTable(name, link.rules.idnRulesOf?.(zoneOf(name)));
  if (table === 'unknown') return rejected('policy', `no table of the registry has all characters of ${name}`);
  const launching = await launchDataOf(link, command);
  if ('outcome' in launching) return launching.outcome;
  const fee = await link.agreedFee(command.fee);
  const contact = await ensureContact(link, command);
  if ('outcome' in contact) return contact.outcome;
  const obstacle = await ensureHosts(link, nameservers, transactionId);
  if (obstacle !== undefined) return obstacle;
  sending.hasBegun = true;
  const response = await link.askOnce(
    {
      kind: 'domain:create',
      name,
      years,
      nameservers: { model: nameserverModel, names: nameservers },
      registrant: contact.id,
      contacts: contactReferences(contact.id, contactTypes),
      authInfo: mintAuthInfo(),
      dsRecords: [],
      fee,
      idn: table === 'none' ? undefined : table,
      launch: launching.launch,
    },
    transactionIdOf(transactionId, 'create'),
  );
  if (response.code === OBJECT_EXISTS && (await isBeingCreated(link, name))) return { kind: 'pending' };
  // What it needs may be gone by now.
  if (response.code === OBJECT_DOES_NOT_EXIST) link.objects.clear();
  const application = isSuccess(response.code) ? findApplication(response.extensions) : undefined;
  if (application !== undefined) return { kind: 'pending', applicationId: application.id };
  const data = findData(response, DOMAIN, 'creData');
  return link.outcomeOf(response, data && readCreatedDomain(data).expiresAt);
}

/** For a create that is repeated: the first one, whose answer was lost, is still pending. */
async function isBeingCreated(link: RegistryLink, name: string): Promise<boolean> {
  const found = await infoDomain(link, name);
  return found?.domain.isOurs === true && found.domain.statuses.includes('pendingCreate');
}

/** Registries refuse a renewal of a term that has moved on with one of these. */
const WRONG_EXPIRY_CODES: readonly number[] = [2004, 2005, 2105, 2306];

export async function renewDomain(link: RegistryLink, command: RenewCommand): Promise<MutationOutcome> {
  const { name, years, currentExpiresAt, transactionId } = command;
  const fee = await link.agreedFee(command.fee);
  const currentExpiryDate = dayOf(currentExpiresAt);
  const response = await link.askOnce(
    { kind: 'domain:renew', name, currentExpiryDate, years, fee },
    transactionIdOf(transactionId, 'renew'),
  );
  if (WRONG_EXPIRY_CODES.includes(response.code)) {
    const found = await infoDomain(link, name);
    const expiresAt = found?.domain.isOurs ? found.domain.expiresAt : undefined;
    if (expiresAt !== undefined && dayOf(expiresAt) !== currentExpiryDate) {
      return rejected('wrong_expiry', `${name} expires at ${expiresAt}`);
    }
  }
  const data = findData(response, DOMAIN, 'renData');
  return link.outcomeOf(response, data && readRenewedDomain(data).expiresAt);
}

function dayOf(time: string): string {
  return new Date(time).toISOString().slice(0, 10);
}

export async function transferDomain(link: RegistryLink, command: TransferCommand): Promise<MutationOutcome> {
  const { name, years, authCode, transactionId } = command;
  const fee = await link.agreedFee(command.fee);
  const response = await link.askOnce(
    { kind: 'domain:transfer', operation: 'request', name, years, authInfo: authCode, fee },
    transactionIdOf(transactionId, 'transfer'),
  );
  const data = findData(response, DOMAIN, 'trnData');
  const transfer = data && readTransfer(data);
  // Some answer 1000 and mean that they have taken the request.
  if (isSuccess(response.code) && transfer?.status === 'pending') return { kind: 'pending' };
  return link.outcomeOf(response, transfer?.expiresAt);
}

export async function decideTransfer(
  link: RegistryLink,
  { name, transactionId, decision }: DecideCommand,
): Promise<MutationOutcome> {
  const command = { kind: 'domain:transfer', operation: decision, name } as const;
  return link.outcomeOf(await link.askOnce(command, transactionIdOf(transactionId, 'decide')));
}

/** Host objects below the name, without which registries refuse it (RFC 5731 3.2.2), go first: all of it or nothing. */
export async function deleteDomain(
  link: RegistryLink,
  { name, transactionId }: NamedCommand,
): Promise<MutationOutcome> {
  const send = async () =>
    link.outcomeOf(await link.askOnce({ kind: 'domain:delete', name }, transactionIdOf(transactionId, 'delete')));
  const outcome = await send();
  const { nameserverModel: model } = link.rules;
  if (model === 'hostAttr' || outcome.kind !== 'rejected' || outcome.code !== 'in_use') return outcome;
  const { hosts = [], nameservers = [] } = (await infoDomain(link, name, { withHosts: true }))?.domain ?? {};
  if (hosts.length === 0) return outcome;
  const names = nameservers.filter((host) => isBelow(host, name));
  const items: DomainItems = { nameservers: { model, names }, contacts: [], statuses: [] };
  const update = async (change: Pick<DomainUpdateCommand, 'add' | 'remove'>) =>
    link.outcomeOf(await link.askOnce({ ...unchanged(name), ...change }, transactionIdOf(transactionId, 'update')));
  const undelegate: Step = {
    send: () => update({ remove: items }),
    takeBack: () => update({ add: items }),
    endsWhenPending: true,
  };
  const { after } = hostSteps(hostCommands(link, transactionId), hosts, []);
  const deletion: Step = { send, takeBack: async () => outcome };
  return takeSteps([...(names.length > 0 ? [undelegate] : []), ...after, deletion], isRegistryError);
}

/** RFC 3915: a request, and where the registry wants one a report. Repeated, it continues where it was. */
export async function restoreDomain(link: RegistryLink, command: RestoreCommand): Promise<MutationOutcome> {
  const { name } = command;
  if (!(await link.supports(RGP))) return rejected('policy', 'the registry does not restore names');
  const before = await infoDomain(link, name);
  if (before === undefined) return rejected('object_does_not_exist', `${name} is not at the registry`);
  if (before.rgpStatuses.includes('pendingRestore')) return reportRestore(link, command, before);
  const response = await link.askOnce(
    {
      ...unchanged(name),
      restore: { operation: 'request' },
      fee: await link.agreedFee(command.fee),
    },
    transactionIdOf(command.transactionId, 'restore'),
  );
  const awaitsReport = isSuccess(response.code) && readRgpStatuses(response.extensions).includes('pendingRestore');
  if (!awaitsReport) return link.outcomeOf(response);
  try {
    return await reportRestore(link, command, before);
  } catch (error) {
    // Half of it is done: it was sent, whatever became of the report.
    if (error instanceof CommandNotSent)
      return { kind: 'unknown', reason: `the report was not sent: ${error.message}` };
    throw error;
  }
}

async function reportRestore(
  link: RegistryLink,
  { name, transactionId }: NamedCommand,
  { domain }: DomainAtRegistry,
): Promise<MutationOutcome> {
  const restoredAt = link.rules.clock.now().toISOString();
  const data = `${name}, nameservers ${domain.nameservers.join(' ')}`;
  const report = {
    before: data,
    after: data,
    deletedAt: domain.updatedAt ?? domain.expiresAt ?? restoredAt,
    restoredAt,
    reason: 'The registrant asked for the name to be restored.',
    statements: [
      'The registrar restores the name at the request of its registrant, and not for its own use or sale.',
      'What this report says is true to the best of the registrar’s knowledge.',
    ],
  };
  const response = await link.askOnce(
    { ...unchanged(name), restore: { operation: 'report', report } },
    transactionIdOf(transactionId, 'restore'),
  );
  return link.outcomeOf(response);
}

function unchanged(name: string) {
  return { kind: 'domain:update', name } as const;
}
