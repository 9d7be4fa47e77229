/**
 * update: the difference between what the registry has and what is wanted, all of it or nothing. Up to three commands for the name: the contact
 * is hidden or shown, the lock on updates is lifted, and the name is changed, which locks it again. Host objects below the name are made and
 * given addresses before that, and those that go are deleted after it. A refusal of a later command takes the earlier ones back.
 */
import { dsRecordOf } from '../dns-key.ts';
import { hostSteps } from '../host-steps.ts';
import type { DsRecord, MutationOutcome, RegistryDomain, RegistryHost, UpdateCommand } from '../registry.ts';
import { type Step, takeSteps } from '../take-steps.ts';
import type { DomainUpdateCommand } from './commands/domain-commands.ts';
import type { ContactReference, DomainItems, NameserverModel } from './commands/domain-items.ts';
import type { DnssecInterface, DsChange } from './commands/sec-dns.ts';
import { ensureHosts, hostCommands } from './ensure-hosts.ts';
import { SEC_DNS, SECURE_AUTH_INFO } from './namespaces.ts';
import { isRegistryError, rejected } from './outcomes.ts';
import { type DomainAtRegistry, infoDomain } from './read-domains.ts';
import { disclosureOf, ensureContact } from './registrant-contact.ts';
import { mintAuthInfo, type RegistryLink, type RegistryRules, transactionIdOf } from './registry-link.ts';
import { planHolderUpdate } from './trade-domain.ts';

const UPDATE_LOCK = 'clientUpdateProhibited';
const HOLD = 'clientHold';
const UNCHANGEABLE = {
  no_disclose: 'the registry does not let registrars hide what it shows of a registrant',
  none: 'the registry knows nothing of the registrant that it could show',
} as const;
const TRANSFER_LOCK = 'clientTransferProhibited';
const LOCK: readonly string[] = [TRANSFER_LOCK, UPDATE_LOCK, 'clientDeleteProhibited'];

/** Nothing is sent where nothing differs, so repeating it is safe. Throws what asking throws; see `settle`. */
export async function updateDomain(link: RegistryLink, command: UpdateCommand): Promise<MutationOutcome> {
  const { name, transactionId, nameservers = [] } = command;
  const found = await infoDomain(link, name, { withHosts: command.hosts !== undefined });
  if (found === undefined) return rejected('object_does_not_exist', `${name} is not at the registry`);
  if (!found.domain.isOurs) return rejected('not_authorized', `${name} is with another registrar`);
  if (command.dsRecords !== undefined && !(await link.supports(SEC_DNS))) {
    return rejected('policy', 'the registry takes no DS records');
  }
  if (link.rules.dnssecInterface === 'keyData' && command.dsRecords?.some(({ key }) => key === undefined)) {
    return rejected(
      'policy',
      `the registry of ${name} takes keys, not their digests: send \`public_key\` with each DS record`,
    );
  }
  const { hosts } = command;
  if (hosts !== undefined && link.rules.nameserverModel === 'hostAttr') {
    const idle = hosts.find((host) => !(command.nameservers ?? found.domain.nameservers).includes(host.name));
    if (idle !== undefined) {
      const reason = `the registry of ${name} keeps addresses of nameservers of ${name} alone: make ${idle.name} one of them, or leave it out`;
      return rejected('policy', reason);
    }
  }
  const added = nameservers.filter((host) => !found.domain.nameservers.includes(host));
  const ownHosts = new Set(hosts?.map((host) => host.name));
  const obstacle = await ensureHosts(
    link,
    added.filter((host) => !ownHosts.has(host)),
    transactionId,
  );
  if (obstacle !== undefined) return obstacle;

  const isTraded = link.rules.tradeUri !== undefined;
  const holder = isTraded ? undefined : await findHolder(link, command, found);
  if (holder !== undefined && 'outcome' in holder) return holder.outcome;
  const kept = isTraded ? planHolderUpdate(link, command, found) : undefined;
  if (kept !== undefined && 'outcome' in kept) return kept.outcome;

  const { authCode } = command;
  // Registries that do not know names without one get one that nobody knows.
  const authInfo = authCode === null ? ((await link.supports(SECURE_AUTH_INFO)) ? '' : mintAuthInfo()) : authCode;
  const change: Change = { ...command, authInfo, holder };
  const updates: Step[] = planUpdates(found.domain, change, link.rules).map((update) => ({
    send: () => askOutcome(link, update, transactionId),
    takeBack: () =>
      askOutcome(
        link,
        inverseOf(update, update.registrant === undefined ? undefined : holder?.previousId),
        transactionId,
      ),
    endsWhenPending: update.add?.nameservers !== undefined || update.remove?.nameservers !== undefined,
  }));
  const objects = hosts === undefined || link.rules.nameserverModel === 'hostAttr' ? [] : (found.domain.hosts ?? []);
  const wanted = link.rules.nameserverModel === 'hostAttr' ? [] : (hosts ?? []);
  const { before, after } = hostSteps(hostCommands(link, transactionId), objects, wanted);
  const steps = [...(kept === undefined ? [] : [kept]), ...before, ...updates, ...after];
  const { isPrivate } = command;
  // The contact of a new holder is made as it is to be.
  if (isPrivate !== undefined && isPrivate !== found.domain.isPrivate && holder === undefined) {
    const { registrant } = found;
    if (link.rules.contactModel !== 'objects') return rejected('policy', UNCHANGEABLE[link.rules.contactModel]);
    if (registrant === undefined) return rejected('policy', 'the registry tells no registrant whose data to hide');
    const disclose = async (hides: boolean) =>
      link.outcomeOf(
        await link.askRepeatable(disclosureOf(registrant, hides), transactionIdOf(transactionId, 'contact')),
      );
    steps.unshift({ send: () => disclose(isPrivate), takeBack: () => disclose(!isPrivate) });
  }
  return takeSteps(steps, isRegistryError);
}

async function askOutcome(
  link: RegistryLink,
  update: DomainUpdateCommand,
  transactionId: string,
): Promise<MutationOutcome> {
  return link.outcomeOf(await link.askOnce(update, transactionIdOf(transactionId, 'update')));
}

/** `authInfo`: empty for none. */
type Change = Omit<UpdateCommand, 'authCode'> & {
  readonly authInfo: string | undefined;
  readonly holder: HolderChange | undefined;
};

/** Contacts of a name before, and those in their place. */
interface HolderChange {
  readonly id: string;
  readonly previousId: string;
  readonly add: readonly ContactReference[];
  readonly remove: readonly ContactReference[];
}

/** Undefined: nothing differs. Contacts of others than the holder stay. */
async function findHolder(
  link: RegistryLink,
  { isPrivate, name, registrant, transactionId }: UpdateCommand,
  { contacts, domain, registrant: previousId }: DomainAtRegistry,
): Promise<HolderChange | { readonly outcome: MutationOutcome } | undefined> {
  if (registrant === undefined || link.rules.contactModel === 'none') return undefined;
  const holding = { name, registrant, transactionId, isPrivate: isPrivate ?? domain.isPrivate };
  const contact = await ensureContact(link, holding);
  if ('outcome' in contact) return contact;
  const { id } = contact;
  if (id === undefined || previousId === undefined || id === previousId) return undefined;
  const remove = contacts.filter((one) => one.id === previousId);
  return { id, previousId, remove, add: remove.map(({ type }) => ({ type, id })) };
}

/** All but an auth code, which goes alone. */
function inverseOf({ add, ds, name, remove }: DomainUpdateCommand, registrant?: string): DomainUpdateCommand {
  const inverse: DomainUpdateCommand = { kind: 'domain:update', name, add: remove, remove: add, registrant };
  return ds === undefined ? inverse : { ...inverse, ds: { by: ds.by, add: ds.remove ?? [], remove: ds.add ?? [] } };
}

/**
 * None, one or two commands: a name with clientUpdateProhibited takes no change but the removal of that status (RFC 5731
 * 2.3), so the lock is lifted first and put back with the change.
 */
function planUpdates(domain: RegistryDomain, command: Change, rules: Rules): DomainUpdateCommand[] {
  const statuses = new Set(domain.statuses);
  // Of our lock only this is missing after an update that was cut off between its two commands.
  const isHalfLocked = LOCK.every((status) => status === UPDATE_LOCK || statuses.has(status));
  const wanted = command.locked === undefined && isHalfLocked ? { ...command, locked: true } : command;
  const others = planChange(domain, wanted, rules);
  if (others === undefined) return [];
  if (!statuses.has(UPDATE_LOCK)) return [others];

  const unlock: DomainUpdateCommand = {
    kind: 'domain:update',
    name: command.name,
    remove: { contacts: [], statuses: [UPDATE_LOCK] },
  };
  const unlocked = { ...domain, statuses: domain.statuses.filter((status) => status !== UPDATE_LOCK) };
  // A lock on updates that another put there, without the rest of ours, stays too.
  const keep = command.locked ?? true;
  const after = planChange(unlocked, wanted, rules, keep ? [UPDATE_LOCK] : []);
  return after === undefined ? [unlock] : [unlock, after];
}

/** Undefined where nothing differs. */
function planChange(
  domain: RegistryDomain,
  command: Change,
  { nameserverModel, dnssecInterface }: Rules,
  extraStatuses: readonly string[] = [],
): DomainUpdateCommand | undefined {
  const has = new Set(domain.statuses);
  const lock = command.locked === true ? LOCK : command.transferLocked === true ? [TRANSFER_LOCK] : [];
  const locks = [...lock, ...extraStatuses];
  const wanted = new Set([...locks, ...(command.held === true ? [HOLD] : [])]);
  const unwanted = [...(command.locked === false ? LOCK : []), ...(command.held === false ? [HOLD] : [])];
  const moved = nameserverModel === 'hostAttr' ? movedAttributes(domain, command) : [];
  const add: Changes = {
    names: [...(command.nameservers ?? []).filter((host) => !domain.nameservers.includes(host)), ...moved],
    addresses: addressesOf(command.hosts),
    contacts: command.holder?.add ?? [],
    statuses: [...wanted].filter((status) => !has.has(status)),
  };
  const remove: Changes = {
    names: [...domain.nameservers.filter((host) => command.nameservers?.includes(host) === false), ...moved],
    addresses: addressesOf(domain.hosts),
    contacts: command.holder?.remove ?? [],
    statuses: unwanted.filter((status) => has.has(status)),
  };
  const ds = command.dsRecords === undefined ? undefined : dsChangeOf(domain, command.dsRecords, dnssecInterface);
  const items = { add: itemsOf(add, nameserverModel), remove: itemsOf(remove, nameserverModel) };
  const { authInfo, holder } = command;
  const parts = [items.add, items.remove, ds, authInfo, holder];
  if (parts.every((part) => part === undefined)) return undefined;
  return { kind: 'domain:update', name: command.name, ...items, registrant: holder?.id, ds, authInfo };
}

type Rules = Pick<RegistryRules, 'nameserverModel' | 'dnssecInterface'>;

/** Nameservers that stay, and whose addresses change: attributes are replaced as a whole. */
function movedAttributes(
  { hosts: present = [], nameservers }: RegistryDomain,
  command: Pick<UpdateCommand, 'hosts' | 'nameservers'>,
): string[] {
  return (command.hosts ?? []).flatMap(({ addresses, name }) => {
    const stays = nameservers.includes(name) && command.nameservers?.includes(name) !== false;
    const old = present.find((host) => host.name === name)?.addresses ?? [];
    return stays && old.join() !== addresses.join() ? [name] : [];
  });
}

function addressesOf(hosts: readonly RegistryHost[] = []): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(hosts.map(({ addresses, name }) => [name, addresses]));
}

interface Changes {
  readonly names: readonly string[];
  /** By host; attributes alone have them. */
  readonly addresses: Readonly<Record<string, readonly string[]>>;
  readonly contacts: readonly ContactReference[];
  readonly statuses: readonly string[];
}

function itemsOf({ addresses, contacts, names, statuses }: Changes, model: NameserverModel): DomainItems | undefined {
  if (names.length === 0 && statuses.length === 0 && contacts.length === 0) return undefined;
  const nameservers = model === 'hostAttr' ? { model, names, addresses } : { model, names };
  return { nameservers: names.length > 0 ? nameservers : undefined, contacts, statuses };
}

function dsChangeOf(
  { dsRecords: before, name }: RegistryDomain,
  wanted: readonly DsRecord[],
  by: DnssecInterface,
): DsChange | undefined {
  const after = by === 'keyData' ? wanted.map((record) => asReported(name, record)) : wanted;
  const keyOf = (record: DsRecord) =>
    `${record.keyTag} ${record.algorithm} ${record.digestType} ${record.digest.toUpperCase()}`;
  const [present, future] = [before, after].map((records) => new Map(records.map((record) => [keyOf(record), record])));
  const add = [...(future ?? [])].flatMap(([key, record]) => (present?.has(key) ? [] : [record]));
  const remove = [...(present ?? [])].flatMap(([key, record]) => (future?.has(key) ? [] : [record]));
  return add.length === 0 && remove.length === 0 ? undefined : { by, add, remove };
}

/** What is shown of a registry's key is its SHA-256 digest, whatever digest was asked for. */
function asReported(name: string, { algorithm, key, ...record }: DsRecord): DsRecord {
  return key === undefined ? { ...record, algorithm } : dsRecordOf(name, algorithm, key);
}
