/** A registry in memory for what depends on expiries alone. It takes renewals and completes them on demand. */
import {
  type MutationOutcome,
  type Registry,
  type RegistryDomain,
  type RegistryMember,
  type RegistryMessage,
  RegistryUnavailable,
  type RenewCommand,
} from '../../src/domains/registry/registry.ts';
import { addYears } from '../../src/domains/registry/term.ts';

/** A name there. Tests write to it. */
export interface RegistryName {
  expiresAt: Date;
  statuses: string[];
  /** Renewals that will be refused. */
  refusals: number;
}

export class TermRegistry {
  readonly names = new Map<string, RegistryName>();
  /** Nothing is answered while true. */
  isAway = false;
  /** Names that are never answered for. */
  readonly silent = new Set<string>();
  /** The answers to so many renewals will be lost. */
  answersToLose = 0;
  /** How often it was asked about a name. */
  asked = 0;
  /** What happens while it is asked about one. */
  onAsked: (() => Promise<unknown>) | undefined;
  readonly #pending = new Map<string, number>();
  #messages: RegistryMessage[] = [];
  #messageCount = 0;

  /** As the service sees it. */
  asPort(): Registry {
    const unused = async (): Promise<never> => {
      throw new Error('this registry knows terms only');
    };
    const habits = { autoRenewGraceDays: undefined, requiredContact: [] };
    const member: RegistryMember = {
      id: 'terms',
      zones: undefined,
      habits,
      readBalance: async () => undefined,
      poll: async () => {
        this.#requireHere();
        const [message] = this.#messages;
        return message === undefined ? undefined : { message, count: this.#messages.length };
      },
      acknowledge: async (id) => {
        this.#messages = this.#messages.filter((message) => message.id !== id);
      },
      countSessions: () => undefined,
    };
    return {
      kind: 'simulated',
      members: [member],
      habitsOf: () => habits,
      feeOf: async () => undefined,
      launchDemandOf: async () => ({ kind: 'none' }),
      applicationOf: async () => undefined,
      check: unused,
      create: unused,
      transfer: unused,
      transferOf: unused,
      trade: unused,
      tradeOf: unused,
      decideTransfer: unused,
      update: unused,
      delete: unused,
      restore: unused,
      info: (name) => this.#info(name),
      renew: async (command) => this.#renew(command),
      start: async () => undefined,
      stop: async () => undefined,
    };
  }

  /** Carries out the renewals that it has taken, and queues its messages of them. */
  completeAll(now: Date): void {
    for (const [name, years] of this.#pending) {
      const found = this.#find(name);
      found.expiresAt = addYears(found.expiresAt, years);
      this.#messageCount += 1;
      this.#messages.push({
        id: String(this.#messageCount),
        queuedAt: now.toISOString(),
        name,
        kind: 'renewal_completed',
        text: 'Renewed',
      });
    }
    this.#pending.clear();
  }

  async #info(name: string): Promise<RegistryDomain> {
    this.asked += 1;
    await this.onAsked?.();
    this.#requireHere();
    if (this.silent.has(name)) throw new RegistryUnavailable('no answer');
    const { expiresAt, statuses } = this.#find(name);
    return {
      name,
      registryId: name,
      isOurs: true,
      statuses: this.#pending.has(name) ? ['pendingRenew'] : statuses,
      createdAt: '2020-01-01T00:00:00.000Z',
      updatedAt: null,
      expiresAt: expiresAt.toISOString(),
      nameservers: [],
      dsRecords: [],
      isPrivate: true,
    };
  }

  #renew({ name, years, currentExpiresAt }: RenewCommand): MutationOutcome {
    const found = this.#find(name);
    if (this.isAway) return { kind: 'unknown', reason: 'no answer' };
    if (this.#pending.has(name)) return { kind: 'rejected', code: 'status_prohibits', reason: 'pendingRenew' };
    if (found.expiresAt.toISOString() !== currentExpiresAt) {
      return { kind: 'rejected', code: 'wrong_expiry', reason: 'It expires on another day.' };
    }
    if (found.refusals > 0) {
      found.refusals -= 1;
      return { kind: 'rejected', code: 'policy', reason: 'Not today.' };
    }
    this.#pending.set(name, years);
    if (this.answersToLose === 0) return { kind: 'pending' };
    this.answersToLose -= 1;
    return { kind: 'unknown', reason: 'the connection was cut' };
  }

  #find(name: string): RegistryName {
    const found = this.names.get(name);
    if (found === undefined) throw new Error(`no such name: ${name}`);
    return found;
  }

  #requireHere(): void {
    if (this.isAway) throw new RegistryUnavailable('no answer');
  }
}
