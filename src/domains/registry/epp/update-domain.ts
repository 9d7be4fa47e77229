/**
 * update: the difference between what the registry has and what is wanted, all of it or nothing. Up to three commands: the contact is hidden or
 * shown, the lock on updates is lifted, and the name is changed, which locks it again. A refusal of a later one takes the earlier ones back.
 */
import type { DsRecord, MutationOutcome, RegistryDomain, UpdateCommand } from '../registry.ts';
import { isSuccess } from '../result-codes.ts';
import type { DomainUpdateCommand } from './commands/domain-commands.ts';
import type { DomainItems, NameserverModel } from './commands/domain-items.ts';
import type { Response } from './commands/response.ts';
import type { DsChange } from './commands/sec-dns.ts';
import { ensureHosts } from './ensure-hosts.ts';
import { SEC_DNS, SECURE_AUTH_INFO } from './namespaces.ts';
import { describeRefusal, rejected } from './outcomes.ts';
import { infoDomain } from './read-domains.ts';
import { disclosureOf } from './registrant-contact.ts';
import { mintAuthInfo, type RegistryLink, transactionIdOf } from './registry-link.ts';

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
  const found = await infoDomain(link, name);
  if (found === undefined) return rejected('object_does_not_exist', `${name} is not at the registry`);
  if (!found.domain.isOurs) return rejected('not_authorized', `${name} is with another registrar`);
  if (command.dsRecords !== undefined && !(await link.supports(SEC_DNS))) {
    return rejected('policy', 'the registry takes no DS records');
  }
  const added = nameservers.filter((host) => !found.domain.nameservers.includes(host));
  const obstacle = await ensureHosts(link, added, transactionId);
  if (obstacle !== undefined) return obstacle;

  const { authCode } = command;
  // Registries that do not know names without one get one that nobody knows.
  const authInfo = authCode === null ? ((await link.supports(SECURE_AUTH_INFO)) ? '' : mintAuthInfo()) : authCode;
  const wanted: Change = { ...command, authInfo };
  const steps: Step[] = planUpdates(found.domain, wanted, link.rules.nameserverModel).map((update) => ({
    send: () => link.askOnce(update, transactionIdOf(transactionId, 'update')),
    // The change itself is the last of all: only a lifted lock is ever put back.
    takeBack: () =>
      link.askOnce({ kind: 'domain:update', name, add: update.remove }, transactionIdOf(transactionId, 'update')),
  }));
  const { isPrivate } = command;
  if (isPrivate !== undefined && isPrivate !== found.domain.isPrivate) {
    const { registrant } = found;
    if (link.rules.contactModel !== 'objects') return rejected('policy', UNCHANGEABLE[link.rules.contactModel]);
    if (registrant === undefined) return rejected('policy', 'the registry tells no registrant whose data to hide');
    const disclose = (hides: boolean) =>
      link.askRepeatable(disclosureOf(registrant, hides), transactionIdOf(transactionId, 'contact'));
    steps.unshift({ send: () => disclose(isPrivate), takeBack: () => disclose(!isPrivate) });
  }
  return takeSteps(link, steps);
}

/** `authInfo`: empty for none. */
type Change = Omit<UpdateCommand, 'authCode'> & { readonly authInfo: string | undefined };

interface Step {
  readonly send: () => Promise<Response>;
  readonly takeBack: () => Promise<Response>;
}

/** All of them, or none: `unknown` where what was done before a refusal could not be taken back. */
async function takeSteps(link: RegistryLink, steps: readonly Step[]): Promise<MutationOutcome> {
  let outcome: MutationOutcome = { kind: 'completed' };
  for (const [index, step] of steps.entries()) {
    const response = await step.send();
    outcome = link.outcomeOf(response);
    if (isSuccess(response.code)) continue;
    for (const done of steps.slice(0, index).reverse()) {
      const { code } = await done.takeBack();
      if (isSuccess(code)) continue;
      const refusal = describeRefusal(response);
      return {
        kind: 'unknown',
        reason: `${response.code}: ${refusal}; and what was changed before it was not taken back (${code})`,
      };
    }
    return outcome;
  }
  return outcome;
}

/**
 * None, one or two commands: a name with clientUpdateProhibited takes no change but the removal of that status (RFC 5731
 * 2.3), so the lock is lifted first and put back with the change.
 */
function planUpdates(domain: RegistryDomain, command: Change, model: NameserverModel): DomainUpdateCommand[] {
  const statuses = new Set(domain.statuses);
  // Of our lock only this is missing after an update that was cut off between its two commands.
  const isHalfLocked = LOCK.every((status) => status === UPDATE_LOCK || statuses.has(status));
  const wanted = command.locked === undefined && isHalfLocked ? { ...command, locked: true } : command;
  const others = planChange(domain, wanted, model);
  if (others === undefined) return [];
  if (!statuses.has(UPDATE_LOCK)) return [others];

  const unlock: DomainUpdateCommand = {
    kind: 'domain:update',
    name: domain.name,
    remove: { contacts: [], statuses: [UPDATE_LOCK] },
  };
  const unlocked = { ...domain, statuses: domain.statuses.filter((status) => status !== UPDATE_LOCK) };
  // A lock on updates that another put there, without the rest of ours, stays too.
  const keep = command.locked ?? true;
  const after = planChange(unlocked, wanted, model, keep ? [UPDATE_LOCK] : []);
  return after === undefined ? [unlock] : [unlock, after];
}

/** Undefined where nothing differs. */
function planChange(
  domain: RegistryDomain,
  command: Change,
  model: NameserverModel,
  extraStatuses: readonly string[] = [],
): DomainUpdateCommand | undefined {
  const has = new Set(domain.statuses);
  const lock = command.locked === true ? LOCK : command.transferLocked === true ? [TRANSFER_LOCK] : [];
  const locks = [...lock, ...extraStatuses];
  const wanted = new Set([...locks, ...(command.held === true ? [HOLD] : [])]);
  const unwanted = [...(command.locked === false ? LOCK : []), ...(command.held === false ? [HOLD] : [])];
  const add: Changes = {
    names: (command.nameservers ?? []).filter((host) => !domain.nameservers.includes(host)),
    statuses: [...wanted].filter((status) => !has.has(status)),
  };
  const remove: Changes = {
    names: domain.nameservers.filter((host) => command.nameservers?.includes(host) === false),
    statuses: unwanted.filter((status) => has.has(status)),
  };
  const ds = command.dsRecords === undefined ? undefined : dsChangeOf(domain.dsRecords, command.dsRecords);
  const items = { add: itemsOf(add, model), remove: itemsOf(remove, model) };
  if (items.add === undefined && items.remove === undefined && ds === undefined && command.authInfo === undefined) {
    return undefined;
  }
  return { kind: 'domain:update', name: domain.name, ...items, ds, authInfo: command.authInfo };
}

interface Changes {
  readonly names: readonly string[];
  readonly statuses: readonly string[];
}

function itemsOf({ names, statuses }: Changes, model: NameserverModel): DomainItems | undefined {
  if (names.length === 0 && statuses.length === 0) return undefined;
  return { nameservers: names.length > 0 ? { model, names } : undefined, contacts: [], statuses };
}

function dsChangeOf(before: readonly DsRecord[], after: readonly DsRecord[]): DsChange | undefined {
  const keyOf = (record: DsRecord) =>
    `${record.keyTag} ${record.algorithm} ${record.digestType} ${record.digest.toUpperCase()}`;
  const keysBefore = new Set(before.map(keyOf));
  const keysAfter = new Set(after.map(keyOf));
  const add = after.filter((record) => !keysBefore.has(keyOf(record)));
  const remove = before.filter((record) => !keysAfter.has(keyOf(record)));
  return add.length === 0 && remove.length === 0 ? undefined : { add, remove };
}
