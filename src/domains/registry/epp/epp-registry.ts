/** A registry that speaks EPP (RFC 5730 to 5734) as the service's port to registries. */
import { systemClock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Registrant, RegistryHabits, RegistryMember, SingleRegistry } from '../registry.ts';
import { createCommandAllowance } from '../turns/command-allowance.ts';
import type { CommandRate } from '../turns/command-window.ts';
import {
  createDomain,
  decideTransfer,
  deleteDomain,
  renewDomain,
  restoreDomain,
  transferDomain,
} from './change-domains.ts';
import { EppClient, type EppClientOptions } from './client/epp-client.ts';
import { askApplication, readLaunchDemand } from './launch-phase.ts';
import { read, settle } from './outcomes.ts';
import { readBalance } from './read-balance.ts';
import { askFee, checkNames, infoDomain, queryTransfer, readsContacts } from './read-domains.ts';
import { acknowledgeMessage, pollMessage } from './read-messages.ts';
import { contactIdOf, REQUIRED_CONTACT } from './registrant-contact.ts';
import { RegistryLink, type RegistryRules } from './registry-link.ts';
import { queryTrade, tradeDomain } from './trade-domain.ts';
import { updateDomain } from './update-domain.ts';

/**
 * Beside the connection: the registry's rules. By default nameservers are host objects, DNSSEC data is DS records, the registrant is
 * all of its name's contacts and may be hidden, fees are not asked for, checks go ten names at a time and are `unknown` after 10,000 ms.
 */
export type EppRegistryOptions = EppClientOptions &
  Partial<Omit<RegistryRules, 'clientId'>> & {
    /** See `RegistryMember`. Default: `epp`, with every name. */
    readonly id?: string;
    readonly zones?: readonly string[] | undefined;
    /** See `RegistryHabits`. Default: the registry does not renew by itself. */
    readonly autoRenewGraceDays?: number | undefined;
    /** See `RegistryHabits`. Default: neither. */
    readonly addGrace?: RegistryHabits['addGrace'];
    readonly locksNewNames?: boolean | undefined;
    /** See `RegistryMember`. */
    readonly warnBelowCents?: number | undefined;
    /** What it takes of all processes of the service together, which share a database. Default: anything. */
    readonly commandRate?: CommandRate | undefined;
    /** See `DailyLook`. Default: those of an hour, at ten a second or at its rate, if that is less. */
    readonly dailyLookCommands?: number | undefined;
    readonly db?: Database | undefined;
  };

/** Where each command counts, what it answers is remembered for so long. */
const MEMORY_MS = 60_000;

export function createEppRegistry(options: EppRegistryOptions): SingleRegistry {
  const { clock = systemClock, commandRate: rate, db, id = 'epp' } = options;
  const allowance =
    rate === undefined || db === undefined ? undefined : createCommandAllowance({ db, clock, rate, registry: id });
  const client = new EppClient({ ...options, clock, allowance });
  const contactModel = options.contactModel ?? 'objects';
  const link = new RegistryLink(client, {
    clock,
    clientId: options.clientId,
    nameserverModel: options.nameserverModel ?? 'hostObj',
    dnssecInterface: options.dnssecInterface ?? 'dsData',
    contactModel,
    contactTypes: options.contactTypes ?? ['admin', 'tech', 'billing'],
    fees: options.fees,
    codeMeanings: options.codeMeanings ?? {},
    subProductOf: options.subProductOf,
    idnRulesOf: options.idnRulesOf,
    launchPhaseOf: options.launchPhaseOf,
    tradeUri: options.tradeUri,
    lacksPoll: options.lacksPoll ?? false,
    checkBatchSize: options.checkBatchSize ?? 10,
    checkTimeoutMs: options.checkTimeoutMs ?? 10_000,
    termsTimeoutMs: options.termsTimeoutMs ?? 2_000,
    memoryMs: options.memoryMs ?? (rate === undefined ? 0 : MEMORY_MS),
  });
  const habits = {
    autoRenewGraceDays: options.autoRenewGraceDays,
    addGrace: options.addGrace,
    locksNewNames: options.locksNewNames,
    trades: options.tradeUri !== undefined,
    requiredContact: contactModel === 'none' ? [] : REQUIRED_CONTACT,
    ...(contactModel === 'none'
      ? {}
      : { registrantIdOf: (name: string, of: Registrant) => contactIdOf(options.clientId, name, of) }),
  };
  const member: RegistryMember = {
    id,
    zones: options.zones,
    habits,
    dailyLook: {
      commands: options.dailyLookCommands ?? commandsOfAnHour(rate),
      namesACheck: link.rules.checkBatchSize,
      // The name, and its registrant.
      commandsARead: readsContacts(link.rules) ? 2 : 1,
    },
    warnBelowCents: options.warnBelowCents,
    readBalance: () => read(() => readBalance(link)),
    poll: () => read(() => pollMessage(link)),
    acknowledge: (messageId) => read(() => acknowledgeMessage(link, messageId)),
    countSessions: () => client.sessionCount,
  };
  return {
    ...member,
    kind: 'epp',
    members: [member],
    habitsOf: () => habits,
    check: (names, options) => checkNames(link, names, options),
    feeOf: ({ command, name, years }) => read(() => askFee(link.forName(name), name, command, years)),
    launchDemandOf: (name, held) => read(() => readLaunchDemand(link.forName(name), name, held)),
    applicationOf: (application) => read(() => askApplication(link.forName(application.name), application)),
    info: (name, options) => read(async () => (await infoDomain(link.forName(name), name, options))?.domain),
    transferOf: (name) => read(() => queryTransfer(link.forName(name), name)),
    create: (command) => settle(() => createDomain(link.forName(command.name), command)),
    renew: (command) => settle(() => renewDomain(link.forName(command.name), command)),
    transfer: (command) => settle(() => transferDomain(link.forName(command.name), command)),
    trade: (command) => settle(() => tradeDomain(link.forName(command.name), command)),
    tradeOf: (name) => read(() => queryTrade(link.forName(name), name)),
    decideTransfer: (command) => settle(() => decideTransfer(link.forName(command.name), command)),
    update: (command) => settle(() => updateDomain(link.forName(command.name), command)),
    delete: (command) => settle(() => deleteDomain(link.forName(command.name), command)),
    restore: (command) => settle(() => restoreDomain(link.forName(command.name), command)),
    start: async () => client.start(),
    stop: () => client.stop(),
  };
}

const HOUR_MS = 3_600_000;
const COMMANDS_A_SECOND = 10;

function commandsOfAnHour(rate: CommandRate | undefined): number {
  const most = (COMMANDS_A_SECOND * HOUR_MS) / 1_000;
  return rate === undefined ? most : Math.min((rate.commands * HOUR_MS) / rate.perMs, most);
}
