/** What the adapter's operations share: the client, and the registry's rules. */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../../kernel/clock/clock.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type {
  LaunchPhaseName,
  MarkKind,
  MutationOutcome,
  RegistryBalance,
  RegistryFee,
  RejectionCode,
} from '../registry.ts';
import { zoneOf } from '../routing-registry.ts';
import type { EppClient } from './client/epp-client.ts';
import { type EppCommand, isAboutObject } from './commands/command.ts';
import type { ContactReference, ContactType, NameserverModel } from './commands/domain-items.ts';
import { findFeeBalance } from './commands/fee.ts';
import type { Fee } from './commands/fee-values.ts';
import type { Response } from './commands/response.ts';
import type { DnssecInterface } from './commands/sec-dns.ts';
import type { IdnRules } from './idn-tables.ts';
import { Memory } from './memory.ts';
import { FEE_URIS } from './namespaces.ts';
import { outcomeOf } from './outcomes.ts';

/** Whether the registry keeps contacts of names, and whether it is told which of their data to hide. */
export type ContactModel = 'objects' | 'no_disclose' | 'none';

/** The fee extension is used (RFC 8748). */
export interface FeeRules {
  /** ISO 4217; absent: the registry's own. */
  readonly currency?: string | undefined;
}

/** Where a registry's result codes mean something else than those of RFC 5730. `unknown`: it may have been carried out. */
export type CodeMeanings = Readonly<Record<number, RejectionCode | 'unknown'>>;

/** RFC 8334: while a TLD is being launched. */
export interface LaunchPhase extends LaunchPhaseName {
  /** Names are applied for, and the registry decides at its end. */
  readonly applications?: boolean;
  /** What has to come with a name. Default: a signed mark in a sunrise, notices of claims while trademarks claim names, nothing else. */
  readonly requires?: MarkKind | 'claims_notice' | 'nothing' | undefined;
  /** Whose codes and notices count, as the registry calls them (RFC 8334 2.2). Default: the clearinghouse's. */
  readonly validator?: string | undefined;
  /** Undefined: until the setting goes. */
  readonly until?: Date | undefined;
}

export interface RegistryRules {
  readonly clock: Clock;
  readonly clientId: string;
  readonly nameserverModel: NameserverModel;
  readonly dnssecInterface: DnssecInterface;
  /** Roles in which a name's registrant is its contact too. */
  readonly contactTypes: readonly ContactType[];
  readonly contactModel: ContactModel;
  readonly fees?: FeeRules | undefined;
  readonly codeMeanings: CodeMeanings;
  /** The server is of several registries: for which one a command is follows from the suffix of its name. */
  readonly subProductOf?: ((zone: string) => string) | undefined;
  /** By zone; undefined: anybody may register names under it. */
  readonly launchPhaseOf?: ((zone: string) => LaunchPhase | undefined) | undefined;
  /** By zone; undefined: names under it need no table. */
  readonly idnRulesOf?: ((zone: string) => IdnRules | undefined) | undefined;
  /** The namespace of the extension by which another holder is a trade. Undefined: it is an update. */
  readonly tradeUri?: string | undefined;
  /** It has no message queue. */
  readonly lacksPoll: boolean;
  /** Names in one check command. */
  readonly checkBatchSize: number;
  /** Checks that take longer are `unknown`. */
  readonly checkTimeoutMs: number;
  /** Of a question for a price, and for what a launch demands: whoever buys waits for it, before anything is charged. */
  readonly termsTimeoutMs: number;
  /**
   * How long what it has answered is not asked again: that a host or a contact is there, and what a name costs. 0: it is asked each time.
   */
  readonly memoryMs: number;
}

/** By the links to all registries of one server. */
interface Shared {
  /** Each remembers what its registry has answered. */
  readonly links: Map<string, RegistryLink>;
  /** Of our account, as the answers to paid commands of this process have told it. */
  lastBalance?: RegistryBalance | undefined;
}

export class RegistryLink {
  readonly rules: RegistryRules;
  readonly #client: EppClient;
  readonly #shared: Shared;
  readonly #subProduct: string | undefined;
  /** Hosts and contacts that are there. */
  readonly objects: Memory<true>;
  readonly fees: Memory<RegistryFee>;

  constructor(client: EppClient, rules: RegistryRules, shared: Shared = { links: new Map() }, subProduct?: string) {
    this.objects = new Memory(rules.clock, rules.memoryMs);
    this.fees = new Memory(rules.clock, rules.memoryMs);
    this.#client = client;
    this.#shared = shared;
    this.#subProduct = subProduct;
    this.rules = rules;
  }

  /** For commands about a name, and about the hosts and contacts that it needs. */
  forName(name: string): RegistryLink {
    return this.#forSubProduct(this.rules.subProductOf?.(zoneOf(name)));
  }

  /** The names that one command can be about, with the link for it. */
  bySubProduct(names: readonly string[]): { readonly link: RegistryLink; readonly names: readonly string[] }[] {
    const groups = Map.groupBy(names, (name) => this.rules.subProductOf?.(zoneOf(name)));
    return [...groups].map(([subProduct, names]) => ({ link: this.#forSubProduct(subProduct), names }));
  }

  #forSubProduct(subProduct: string | undefined): RegistryLink {
    if (subProduct === undefined) return this;
    const { links } = this.#shared;
    const link = links.get(subProduct) ?? new RegistryLink(this.#client, this.rules, this.#shared, subProduct);
    links.set(subProduct, link);
    return link;
  }

  /** For what may be sent twice: reads, and creating what has an id of our choice. */
  askRepeatable(command: EppCommand, clTRID: string = mintId('epp'), timeoutMs?: number): Promise<Response> {
    const options = { clTRID, isRepeatable: true };
    return this.#client.execute(this.#address(command), timeoutMs === undefined ? options : { ...options, timeoutMs });
  }

  /** For what must not be sent twice unchecked. Throws `AnswerLost` when it was sent and not answered. */
  async askOnce(command: EppCommand, clTRID: string): Promise<Response> {
    const response = await this.#client.execute(this.#address(command), { clTRID, isRepeatable: false });
    const told = findFeeBalance(response.extensions);
    if (told !== undefined) {
      this.#shared.lastBalance = { ...told, observedAt: this.rules.clock.now().toISOString() };
    }
    return response;
  }

  #address(command: EppCommand): EppCommand {
    const subProduct = this.#subProduct;
    return subProduct === undefined || !isAboutObject(command) ? command : { ...command, subProduct };
  }

  /** Whether the registry understands the extension. Throws `CommandNotSent` when there is no registry to ask. */
  async supports(extensionUri: string, timeoutMs?: number): Promise<boolean> {
    return (await this.#client.services(timeoutMs)).extensionUris.has(extensionUri);
  }

  /** Whether the registry has such objects. Throws as `supports`. */
  async serves(objectUri: string): Promise<boolean> {
    return (await this.#client.services()).objectUris.has(objectUri);
  }

  /** As the answer to the last paid command of this process told it; undefined: none has. */
  get lastBalance(): RegistryBalance | undefined {
    return this.#shared.lastBalance;
  }

  /** The namespace of the fee extension that both sides speak; undefined: the registry has none. Throws as `supports`. */
  async feeUri(timeoutMs?: number): Promise<string | undefined> {
    const { extensionUris } = await this.#client.services(timeoutMs);
    return FEE_URIS.find((uri) => extensionUris.has(uri));
  }

  /** What the caller agreed to, for a registry that is told. */
  async agreedFee(fee: RegistryFee | undefined): Promise<Fee | undefined> {
    const uri = fee === undefined ? undefined : await this.feeUri();
    if (fee === undefined || uri === undefined) return undefined;
    return { uri, currency: fee.currency, amountCents: fee.cents };
  }

  outcomeOf(response: Response, expiresAt?: string): MutationOutcome {
    return outcomeOf(response, { expiresAt, meanings: this.rules.codeMeanings });
  }
}

/** A name's registrant in all of its roles. */
export function contactReferences(id: string | undefined, types: readonly ContactType[]): ContactReference[] {
  return id === undefined ? [] : types.map((type) => ({ type, id }));
}

/** Steps of an operation, each a command of its own. Notices of pending commands repeat it, and are classified by it. */
export type Step =
  | 'contact'
  | 'host'
  | 'create'
  | 'renew'
  | 'transfer'
  | 'trade'
  | 'decide'
  | 'update'
  | 'delete'
  | 'restore';

const MAX_ID = 64;

/** The clTRID of a step: the caller's id and the step. An id that is too long is shortened, and made unique by a hash. */
export function transactionIdOf(transactionId: string, step: Step): string {
  const id = `${transactionId}.${step}`;
  if (id.length <= MAX_ID) return id;
  const hash = createHash('sha256').update(transactionId).digest('hex').slice(0, 12);
  return `${transactionId.slice(0, MAX_ID - hash.length - step.length - 2)}-${hash}.${step}`;
}

export function stepOf(clTRID: string | undefined): string | undefined {
  return clTRID?.split('.').at(-1);
}

/** For objects that must have one and never need it: random (RFC 9154 4.1: at least 128 bits) and not stored; `update` sets another. */
export function mintAuthInfo(): string {
  return `${randomBytes(16).toString('base64url')}!`;
}
