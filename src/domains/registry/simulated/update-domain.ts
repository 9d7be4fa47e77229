import {
  type CommandContext,
  lockDomainState,
  requireNoStatus,
  requireSettled,
  requireSponsor,
  store,
} from './command-context.ts';
import {
  applyChange,
  keyOfContact,
  keyOfDsRecord,
  readDsRecords,
  requireAuthInfo,
  requireContacts,
  requireHosts,
  uniqueContacts,
} from './domain-links.ts';
import type { DomainState } from './life-cycle.ts';
import type { ClientStatus, UpdateDomain } from './registry-core.ts';
import { completed, Refusal, type Result } from './replies.ts';

const clientStatuses: ReadonlySet<string> = new Set<ClientStatus>([
  'clientDeleteProhibited',
  'clientHold',
  'clientRenewProhibited',
  'clientTransferProhibited',
  'clientUpdateProhibited',
]);

export async function updateDomain(context: CommandContext, command: UpdateDomain): Promise<Result<undefined>> {
  const domain = await lockDomainState(context, command.name);
  requireSponsor(context, domain, domain.name);
  requireSettled(domain);
  const statuses = changeStatuses(domain, command);
  // RFC 5731 2.3: a command that takes the status away may change other things too.
  if (statuses.includes('clientUpdateProhibited')) requireNoStatus(domain, 'clientUpdateProhibited');
  // Empty: it is taken away.
  if (command.authInfo !== undefined && command.authInfo !== '') requireAuthInfo(command.authInfo);
  const changed: DomainState = {
    ...domain,
    clientStatuses: statuses,
    nameservers: await changeNameservers(context, domain, command),
    contacts: await changeContacts(context, domain, command),
    dsRecords: command.dsRecords
      ? readDsRecords(applyChange(domain.dsRecords, command.dsRecords, keyOfDsRecord))
      : domain.dsRecords,
    registrant: command.registrant ?? domain.registrant,
    authInfo: command.authInfo ?? domain.authInfo,
    updatedBy: context.session.registrarId,
    updatedAt: context.now,
  };
  await store(context, domain, { domain: changed, notices: [] });
  return completed(undefined);
}

function changeStatuses(domain: DomainState, { statuses }: UpdateDomain): string[] {
  if (statuses === undefined) return [...domain.clientStatuses];
  const after = [...new Set(applyChange<string>(domain.clientStatuses, statuses, (status) => status))].sort();
  const foreign = after.find((status) => !clientStatuses.has(status));
  if (foreign !== undefined) throw new Refusal(2306, `a registrar does not set the status ${foreign}`, 'status');
  return after;
}

async function changeNameservers(context: CommandContext, domain: DomainState, { nameservers }: UpdateDomain) {
  if (nameservers === undefined) return domain.nameservers;
  return requireHosts(
    context,
    applyChange(domain.nameservers, nameservers, (name) => name.toLowerCase()),
  );
}

/** New ones must be this registrar's; those that came with a transfer may stay. */
async function changeContacts(context: CommandContext, domain: DomainState, { contacts, registrant }: UpdateDomain) {
  const after =
    contacts === undefined ? domain.contacts : uniqueContacts(applyChange(domain.contacts, contacts, keyOfContact));
  const kept = new Set(domain.contacts.map(keyOfContact));
  const added = after.filter((contact) => !kept.has(keyOfContact(contact))).map(({ id }) => id);
  if (registrant !== undefined && registrant !== domain.registrant) added.push(registrant);
  await requireContacts(context, added);
  return after;
}
