/**
 * The simulated registry as this service's registrar sees it. Faults can be put between the two: see faults.ts.
 *
 * Two things that callers see of it:
 * - `info` answers undefined while a name is being created, although the registry shows it as pendingCreate to its sponsor:
 *   a registry that reports a name later is the case that callers must be ready for. A create that is repeated in that time
 *   answers `pending` as the first did, so that one whose answer was lost finds its name.
 * - `check` says `reserved` also of names that the registry does not take at all.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import { explainMissingHost, type HostCommands, hostSteps, isBelow } from '../host-steps.ts';
import {
  type Availability,
  type CreateCommand,
  type DecideCommand,
  type FeeCommand,
  type FeeQuestion,
  type LaunchDemand,
  type MutationOutcome,
  type ReadOptions,
  type RegistryFee,
  type RegistryHabits,
  type RegistryHost,
  type RegistryTransfer,
  RegistryUnavailable,
  type RenewCommand,
  type RestoreCommand,
  type SingleRegistry,
  type TransferCommand,
  type UpdateCommand,
} from '../registry.ts';
import { NOT_AUTHORIZED, OBJECT_DOES_NOT_EXIST, OBJECT_EXISTS } from '../result-codes.ts';
import { type Step, takeSteps } from '../take-steps.ts';
import type { RegistryDelays } from './command-context.ts';
import { createRegistryCore } from './create-registry-core.ts';
import { type Changes, changesOf, takenBack } from './domain-changes.ts';
import { createStoredFaults, type Fault, type FaultCommand, type Faults } from './faults.ts';
import { outcomeOf, registryDomainOf, registryMessageOf, registryTransferOf, rejectionOf } from './outcomes.ts';
import { contactOf, registrantOf } from './registrant-contact.ts';
import type {
  ClientStatus,
  DomainCheck,
  DomainInfo,
  Fees,
  PriceList,
  RegistryCore,
  Reply,
  Session,
} from './registry-core.ts';
import type { SpecialNames } from './special-names.ts';

export interface SimulatedRegistryOptions {
  /** The zones that are served and what they cost. */
  readonly prices: PriceList;
  readonly delays?: Partial<RegistryDelays>;
  /** See `RegistryCoreOptions`. */
  readonly autoRenewGraceDays?: number | undefined;
  /** See `RegistryHabits`. Default: neither. */
  readonly addGrace?: RegistryHabits['addGrace'];
  readonly locksNewNames?: boolean | undefined;
  readonly special?: SpecialNames;
  /** Default `ironcraft`. */
  readonly registrarId?: string;
  /** Called around every command; `stored`: what the table `registry_faults` says. Default: no faults. */
  readonly faults?: Faults | 'stored';
  /** How often `start` has what is due applied, so that messages come by themselves. Default 1,000. */
  readonly dueIntervalMs?: number;
}

export interface SimulatedRegistryDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly options: SimulatedRegistryOptions;
}

export const OUR_REGISTRAR = 'ironcraft';
const UPDATE_LOCK = 'clientUpdateProhibited';

export function createSimulatedRegistry(deps: SimulatedRegistryDependencies): SingleRegistry {
  return new SimulatedRegistry(deps);
}

class SimulatedRegistry implements SingleRegistry {
  readonly kind = 'simulated';
  readonly id = 'simulated';
  /** What it does not serve it refuses by itself. */
  readonly zones = undefined;
  readonly members = [this];
  readonly habits: RegistryHabits;
  readonly #core: RegistryCore;
  readonly #logger: Logger;
  readonly #registrarId: string;
  readonly #faults: Faults | undefined;
  readonly #dueWork: PeriodicWorker;

  constructor({ db, clock, logger, options }: SimulatedRegistryDependencies) {
    const {
      autoRenewGraceDays,
      addGrace,
      locksNewNames,
      delays = {},
      dueIntervalMs = 1_000,
      faults,
      prices,
      registrarId = OUR_REGISTRAR,
      special,
    } = options;
    this.habits = { autoRenewGraceDays, addGrace, locksNewNames, requiredContact: [] };
    this.#core = createRegistryCore({ db, clock, prices, delays, autoRenewGraceDays, special });
    this.#logger = logger;
    this.#registrarId = registrarId;
    this.#faults = faults === 'stored' ? createStoredFaults(db) : faults;
    this.#dueWork = createPeriodicWorker({
      name: 'simulated registry',
      intervalMs: dueIntervalMs,
      store: db,
      pass: async () => (await this.#core.runDue()).nextInMs,
      logger,
      startsAtOnce: false,
    });
  }

  habitsOf(): RegistryHabits {
    return this.habits;
  }

  /** It lets us spend what we like. */
  async readBalance(): Promise<undefined> {
    return undefined;
  }

  countSessions(): undefined {
    return undefined;
  }

  async check(names: readonly string[]): Promise<Availability[]> {
    try {
      const reply = await this.#read('check', names[0] ?? '', () => this.#core.checkDomains(this.#session(), names));
      return orUnavailable(reply).map(availabilityOf);
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      return names.map((name) => ({ name, availability: 'unknown', reason: error.message }));
    }
  }

  /** Only names with a price of their own are worth a word. */
  async feeOf({ name, command, years }: FeeQuestion): Promise<RegistryFee | undefined> {
    const fees = this.#core.feesOf(name);
    return fees?.isPremium === true ? premiumFee(fees, command, years) : undefined;
  }

  /** It launches nothing. */
  async launchDemandOf(): Promise<LaunchDemand> {
    return { kind: 'none' };
  }

  async applicationOf(): Promise<undefined> {
    return undefined;
  }

  async info(name: string, { withHosts = false }: ReadOptions = {}) {
    const found = await this.#read('info', name, async () => {
      const info = await this.#findDomain(name);
      return info && { info, hosts: withHosts ? await this.#hostsBelow(info) : undefined };
    });
    if (found === undefined || found.info.statuses.includes('pendingCreate')) return undefined;
    const { hosts, info } = found;
    return { ...registryDomainOf(info, this.#registrarId), ...(hosts === undefined ? {} : { hosts }) };
  }

  async transferOf(name: string): Promise<RegistryTransfer | undefined> {
    const reply = await this.#read('info', name, () => this.#core.queryTransfer(this.#session(), { name }));
    return reply.ok ? registryTransferOf(reply.data, this.#registrarId) : undefined;
  }

  create(command: CreateCommand): Promise<MutationOutcome> {
    return this.#change('create', command.name, async () => {
      const session = this.#session(command.transactionId);
      const contact = contactOf(this.#registrarId, command.registrant, command.isPrivate);
      const domain = {
        name: command.name,
        years: command.years,
        registrant: contact.id,
        nameservers: command.nameservers,
        authInfo: randomBytes(16).toString('hex'),
        feeCents: command.fee?.cents,
      };
      // Contact and hosts are there already for most names: so they are made only once they are missed.
      let reply = await this.#core.createDomain(session, domain);
      if (!reply.ok && reply.code === OBJECT_DOES_NOT_EXIST) {
        const obstacle =
          refusalOf(await this.#core.createContact(session, contact)) ??
          (await this.#ensureHosts(session, command.nameservers));
        if (obstacle !== undefined) return obstacle;
        reply = await this.#core.createDomain(session, domain);
      }
      const isRepeated = !reply.ok && reply.code === OBJECT_EXISTS && (await this.#isBeingCreated(command.name));
      return isRepeated ? { kind: 'pending' } : outcomeOf(reply);
    });
  }

  renew({ currentExpiresAt, fee, name, transactionId, years }: RenewCommand): Promise<MutationOutcome> {
    const currentExpiryDate = new Date(currentExpiresAt).toISOString().slice(0, 10);
    const command = { name, years, currentExpiryDate, feeCents: fee?.cents };
    return this.#change('renew', name, async () =>
      outcomeOf(await this.#core.renewDomain(this.#session(transactionId), command)),
    );
  }

  transfer({ authCode, fee, name, transactionId, years }: TransferCommand): Promise<MutationOutcome> {
    const command = { name, authInfo: authCode, years, feeCents: fee?.cents };
    return this.#change('transfer', name, async () =>
      outcomeOf(await this.#core.requestTransfer(this.#session(transactionId), command)),
    );
  }

  /** Holders change by updates here. */
  async trade(): Promise<MutationOutcome> {
    return { kind: 'rejected', code: 'policy', reason: 'the registry has no trades' };
  }

  async tradeOf(): Promise<undefined> {
    return undefined;
  }

  decideTransfer({ decision, name, transactionId }: DecideCommand): Promise<MutationOutcome> {
    const session = this.#session(transactionId);
    return this.#change('transfer', name, async () =>
      outcomeOf(
        await (decision === 'approve'
          ? this.#core.approveTransfer(session, { name })
          : this.#core.rejectTransfer(session, { name })),
      ),
    );
  }

  update(command: UpdateCommand): Promise<MutationOutcome> {
    return this.#change('update', command.name, () => this.#update(this.#session(command.transactionId), command));
  }

  delete({ name, transactionId }: { name: string; transactionId: string }): Promise<MutationOutcome> {
    return this.#change('delete', name, () => this.#delete(this.#session(transactionId), name));
  }

  restore({ fee, name, transactionId }: RestoreCommand): Promise<MutationOutcome> {
    return this.#change('restore', name, async () =>
      outcomeOf(await this.#core.restoreDomain(this.#session(transactionId), { name, feeCents: fee?.cents })),
    );
  }

  async poll() {
    const found = orUnavailable(await this.#read('poll', '', () => this.#core.requestMessage(this.#session())));
    if (found === undefined) return undefined;
    return { message: registryMessageOf(found.message, this.#registrarId), count: found.count };
  }

  /** One that is not there any more was acknowledged before. */
  async acknowledge(messageId: string): Promise<void> {
    await this.#read('acknowledge', messageId, () => this.#core.acknowledgeMessage(this.#session(), messageId));
  }

  async start(): Promise<void> {
    await this.#core.ensureRegistrar({ id: this.#registrarId, name: 'Ironcraft' });
    this.#dueWork.start();
  }

  async stop(): Promise<void> {
    await this.#dueWork.stop();
  }

  /** Sends only what differs, so that an update that is repeated is done, also once it has locked the name. */
  async #update(session: Session, command: UpdateCommand): Promise<MutationOutcome> {
    const { name } = command;
    const found = await this.#core.infoDomain(session, { name });
    if (!found.ok) return rejectionOf(found);
    const registrant = await this.#registrantFor(session, found.data, command);
    if (typeof registrant === 'object') return registrant;
    const changes = changesOf(found.data, command, registrant);
    const isDone =
      Object.keys(changes).length === 0 && found.data.sponsor === this.#registrarId && command.hosts === undefined;
    if (isDone) return { kind: 'completed' };
    const { hosts } = command;
    if (hosts === undefined) return this.#changeName(session, found.data, command, changes);
    const { before, after } = hostSteps(this.#hostCommands(session), await this.#hostsBelow(found.data), hosts);
    const change: Step = {
      send: () => this.#changeName(session, found.data, command, changes),
      takeBack: async () =>
        outcomeOf(await this.#core.updateDomain(session, { name, ...takenBack(found.data, changes) })),
    };
    return takeSteps([...before, ...(Object.keys(changes).length > 0 ? [change] : []), ...after], isNoAnswer);
  }

  /** Host objects below it go first: all of it or nothing. */
  async #delete(session: Session, name: string): Promise<MutationOutcome> {
    const send = async () => outcomeOf(await this.#core.deleteDomain(session, { name }));
    const outcome = await send();
    const found = outcome.kind === 'rejected' && outcome.code === 'in_use' ? await this.#findDomain(name) : undefined;
    if (found === undefined) return outcome;
    const nameservers = found.nameservers.filter((host) => !isBelow(host, name));
    const { after } = hostSteps(this.#hostCommands(session), await this.#hostsBelow(found), []);
    const delegate = async (set: readonly string[]) =>
      outcomeOf(await this.#core.updateDomain(session, { name, nameservers: { set } }));
    const undelegate = { send: () => delegate(nameservers), takeBack: () => delegate(found.nameservers) };
    return takeSteps([undelegate, ...after, { send, takeBack: async () => outcome }], isNoAnswer);
  }

  async #changeName(
    session: Session,
    found: DomainInfo,
    command: UpdateCommand,
    changes: Changes,
  ): Promise<MutationOutcome> {
    const { hosts = [], name, nameservers } = command;
    if (nameservers !== undefined) {
      const own = new Set(hosts.map((host) => host.name));
      const obstacle = await this.#ensureHosts(
        session,
        nameservers.filter((host) => !own.has(host)),
      );
      if (obstacle !== undefined) return obstacle;
    }
    const isLocked = found.statuses.includes(UPDATE_LOCK);
    const passesLock = command.held !== undefined || command.registrant !== undefined;
    if (!passesLock || command.locked !== undefined || !isLocked) {
      return outcomeOf(await this.#core.updateDomain(session, { name, ...changes }));
    }
    // A name is suspended and freed, and gets another holder, under its owner's lock, which is lifted for that moment.
    const lock = (statuses: { add: ClientStatus[]; remove: ClientStatus[] }) =>
      this.#core.updateDomain(session, { name, statuses });
    const unlocked = outcomeOf(await lock({ add: [], remove: [UPDATE_LOCK] }));
    if (unlocked.kind !== 'completed') return unlocked;
    const { add = [], remove = [] } = changes.statuses ?? {};
    return outcomeOf(
      await this.#core.updateDomain(session, { name, ...changes, statuses: { add: [...add, UPDATE_LOCK], remove } }),
    );
  }

  /** The id of the contact to put in place of the present one; undefined: none. */
  async #registrantFor(
    session: Session,
    domain: DomainInfo,
    { isPrivate = domain.isPrivate, registrant }: UpdateCommand,
  ): Promise<string | undefined | MutationOutcome> {
    if (registrant === undefined && isPrivate === domain.isPrivate) return undefined;
    const present = await this.#core.infoContact(session, { id: domain.registrant });
    if (!present.ok) return rejectionOf(present);
    const contact = contactOf(this.#registrarId, registrant ?? registrantOf(present.data), isPrivate);
    if (contact.id === domain.registrant) return undefined;
    return refusalOf(await this.#core.createContact(session, contact)) ?? contact.id;
  }

  async #ensureHosts(session: Session, names: readonly string[]): Promise<MutationOutcome | undefined> {
    for (const name of names) {
      const reply = await this.#core.createHost(session, { name, addresses: [] });
      const obstacle = refusalOf(reply);
      if (obstacle?.kind === 'rejected') return { ...obstacle, explanation: explainMissingHost(name) };
    }
    return undefined;
  }

  async #hostsBelow({ subordinateHosts }: DomainInfo): Promise<RegistryHost[]> {
    const hosts: RegistryHost[] = [];
    for (const name of subordinateHosts) {
      const reply = await this.#core.infoHost(this.#session(), { name });
      if (reply.ok) hosts.push({ name, addresses: reply.data.addresses });
    }
    return hosts;
  }

  #hostCommands(session: Session): HostCommands {
    return {
      create: async (host) => outcomeOfHost(await this.#core.createHost(session, host)),
      change: async (name, addresses) => outcomeOfHost(await this.#core.updateHost(session, { name, addresses })),
      remove: async (name) => outcomeOfHost(await this.#core.deleteHost(session, { name })),
    };
  }

  async #findDomain(name: string): Promise<DomainInfo | undefined> {
    const reply = await this.#core.infoDomain(this.#session(), { name });
    if (reply.ok) return reply.data;
    // Not authorized: another registrar is creating it.
    if (reply.code === OBJECT_DOES_NOT_EXIST || reply.code === NOT_AUTHORIZED) return undefined;
    throw new RegistryUnavailable(`the registry refused info about ${name}: ${reply.reason}`);
  }

  async #isBeingCreated(name: string): Promise<boolean> {
    return (await this.#findDomain(name))?.statuses.includes('pendingCreate') === true;
  }

  #session(clTRID?: string): Session {
    return { registrarId: this.#registrarId, clTRID };
  }

  async #read<Answer>(command: FaultCommand, name: string, work: () => Promise<Answer>): Promise<Answer> {
    try {
      const hasFaults = this.#faults !== undefined && (await this.#faults.hasFaults?.()) !== false;
      if (hasFaults) await this.#injectFault('before', command, name);
      const answer = await work();
      if (hasFaults) await this.#injectFault('after', command, name);
      return answer;
    } catch (error) {
      if (error instanceof RegistryUnavailable) throw error;
      throw new RegistryUnavailable(`the registry did not answer ${command}`, error);
    }
  }

  async #change(command: FaultCommand, name: string, work: () => Promise<MutationOutcome>): Promise<MutationOutcome> {
    try {
      return await this.#read(command, name, work);
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      if (error.cause !== undefined)
        this.#logger.warn({ err: error, name }, 'a registry command may not have been done');
      return { kind: 'unknown', reason: error.message };
    }
  }

  async #injectFault(moment: 'before' | 'after', command: FaultCommand, name: string): Promise<void> {
    const fault: Fault = (await this.#faults?.[moment](command, name)) ?? 'ok';
    if (fault === 'timeout') throw new RegistryUnavailable(`the registry did not answer ${command} in time`);
    if (fault === 'disconnect') throw new RegistryUnavailable(`the connection was cut before ${command} was answered`);
  }
}

function outcomeOfHost(reply: Reply<unknown>): MutationOutcome {
  return reply.ok ? { kind: 'completed' } : rejectionOf(reply);
}

/** Undefined: it is there now, made by this command or before. */
function refusalOf(reply: Reply<unknown>): MutationOutcome | undefined {
  return reply.ok || reply.code === OBJECT_EXISTS ? undefined : rejectionOf(reply);
}

function orUnavailable<Data>(reply: Reply<Data>): Data {
  if (reply.ok) return reply.data;
  throw new RegistryUnavailable(`the registry refused to answer: ${reply.reason}`);
}

function availabilityOf({ fees, name, reason, state }: DomainCheck): Availability {
  const availability = state === 'invalid' || state === 'not_served' ? 'reserved' : state;
  return {
    name,
    availability,
    ...(reason === undefined ? {} : { reason }),
    ...(fees?.isPremium === true ? { fees: premiumFees(fees) } : {}),
  };
}

function premiumFees(fees: Fees): NonNullable<Availability['fees']> {
  const feeOf = (command: FeeCommand) => premiumFee(fees, command, 1);
  return { create: feeOf('create'), renew: feeOf('renew'), transfer: feeOf('transfer') };
}

function premiumFee(fees: Fees, command: FeeCommand, years: number): RegistryFee {
  const cents = {
    create: fees.createCents * years,
    renew: fees.renewCents * years,
    transfer: fees.transferCents,
    restore: fees.restoreCents,
  };
  return { currency: 'EUR', cents: cents[command], isPremium: true };
}

function isNoAnswer(error: unknown): error is RegistryUnavailable {
  return error instanceof RegistryUnavailable;
}
