/**
 * The port to a registry: the authority on who owns a name. Adapters: `simulated/` and `epp/`.
 *
 * Reads throw `RegistryUnavailable` when there is no answer in time: nothing is known then, and a caller must never take
 * it for "free" or "gone". Every mutation answers one of four outcomes and never throws for what the registry did:
 *
 *   completed  it is done
 *   pending    the registry accepted it; `poll` or `info` shows its end: seconds to minutes, up to days for transfers
 *   rejected   the registry refused: nothing has changed there
 *   unknown    the command may or may not have been carried out (cut off, timed out): find out by `info`, or repeat it.
 *              Repeating is safe by what registries do: a name is created once, a renewal names the expiry that it
 *              moves, a transfer or a trade is pending once
 */
import type { AcceptedNotice } from './claims-notices.ts';

/** Times are in UTC. Names are ASCII (punycode), lower case. */
export interface RegistryDomain {
  readonly name: string;
  /** The registry's id of the object (ROID): another registration of the same name has another. */
  readonly registryId: string;
  /** Whether this service's registrar sponsors it. */
  readonly isOurs: boolean;
  /** The registry's id of its registrant, where it shows it. */
  readonly registrantId?: string;
  /** EPP status values (RFC 5731 2.3, RFC 3915 3.1): ok, clientTransferProhibited, pendingTransfer, redemptionPeriod… */
  readonly statuses: readonly string[];
  /** Where the registry shows it, as `expiresAt`: RFC 5731 3.1.2 has both optional. */
  readonly createdAt?: string;
  readonly updatedAt: string | null;
  readonly expiresAt?: string;
  /** Lower case, sorted. */
  readonly nameservers: readonly string[];
  /** Those below the name itself, with their addresses; only where it was asked for them. Sorted by their names. */
  readonly hosts?: readonly RegistryHost[];
  readonly dsRecords: readonly DsRecord[];
  /** Whether the registrant's data is kept from public look-ups. */
  readonly isPrivate: boolean;
  /** Of a name of ours at a registry where the holder changes by a trade. */
  readonly holder?: RegistryHolder;
}

/** What says who the holder of a name is. */
export interface RegistryHolder {
  readonly name: string;
  readonly organization?: string;
}

/** A host below a name: the zone above the name answers with its addresses too (glue). */
export interface RegistryHost {
  /** Lower case. */
  readonly name: string;
  /** In their canonical form, sorted. */
  readonly addresses: readonly string[];
}

/** Delegation signer, RFC 4034 5. */
export interface DsRecord {
  readonly keyTag: number;
  readonly algorithm: number;
  readonly digestType: number;
  /** Upper-case hex. */
  readonly digest: string;
  /** That it is the digest of, where it is known: some registries take keys alone. */
  readonly key?: DnsKey;
}

/** DNSKEY, RFC 4034 2: its algorithm is that of the DS record. */
export interface DnsKey {
  readonly flags: number;
  /** Base64. */
  readonly publicKey: string;
}

export interface Registrant {
  readonly name: string;
  readonly email: string;
  readonly organization?: string;
  readonly street?: string;
  readonly city?: string;
  readonly region?: string;
  readonly postalCode?: string;
  readonly country?: string;
  readonly phone?: string;
}

/** What a name may be: `unknown` is an answer of its own. */
export interface Availability {
  readonly name: string;
  readonly availability: 'available' | 'taken' | 'reserved' | 'unknown';
  /** The registry's reason, where it gives one: for the log, not for customers. */
  readonly reason?: string;
  /** What the registry asks for a year of it, and for its transfer, where it says so. */
  readonly fees?: Readonly<Partial<Record<FeeCommand, RegistryFee>>>;
  /** Of a name that is available while its TLD is being launched. */
  readonly launch?: LaunchDemand;
}

/** A phase of the launch of a TLD (RFC 8334 2.3). */
export interface LaunchPhaseName {
  readonly phase: (typeof LAUNCH_PHASES)[number];
  /** Of a custom phase, as the registry calls it; of another, a part of it. */
  readonly name?: string;
}

export const LAUNCH_PHASES = ['sunrise', 'landrush', 'claims', 'open', 'custom'] as const;

/**
 * How the holder of a trademark shows that (RFC 8334 2.6): by a mark that was signed (RFC 7848), by a code that a validator of trademarks has
 * given, by the mark itself, which the registry looks at, or by both of these.
 */
export const MARK_KINDS = ['signed_mark', 'mark_code', 'mark', 'mark_code_and_mark'] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

/** What a holder has of it. */
export interface HeldMark {
  /** Base64 (RFC 7848 2.3). */
  readonly signedMark?: string | undefined;
  readonly markCode?: string | undefined;
  /** A document (RFC 7848 2.2) in base64. */
  readonly mark?: string | undefined;
}

/**
 * What has to come with the registration of a name while its TLD is being launched (RFC 8334).
 *
 *   none           anybody may have it
 *   claims_notice  a trademark claims it: whoever wants it reads the notice that the key leads to, and accepts it
 *   mark           it is for the holder of a trademark
 *   refused        it cannot be registered through us, for a reason that customers may read
 *
 * `application`: it is applied for in that phase. The registry decides later who has it, and may take several applications of one
 * registrar, so that none can be repeated unchecked.
 */
export type LaunchDemand =
  | ((
      | { readonly kind: 'none' }
      | { readonly kind: 'claims_notice'; readonly lookupKey: string }
      | { readonly kind: 'mark'; readonly requires: MarkKind }
    ) & { readonly application?: LaunchPhaseName })
  | { readonly kind: 'refused'; readonly reason: string };

export interface AskedApplication {
  readonly name: string;
  /** The registry's. */
  readonly id: string;
  /** In which it was applied for. */
  readonly phase: LaunchPhaseName;
}

/** What became of an application. */
export type ApplicationState = 'pending' | 'allocated' | 'rejected';

export type FeeCommand = 'create' | 'renew' | 'transfer' | 'restore';

export interface FeeQuestion {
  readonly name: string;
  readonly command: FeeCommand;
  readonly years: number;
}

/** What a registry asks of its registrar (RFC 8748). */
export interface RegistryFee {
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly cents: number;
  /** Whether the name has a price of its own; undefined: the registry does not say. */
  readonly isPremium?: boolean;
}

export type MutationOutcome =
  | { readonly kind: 'completed'; readonly expiresAt?: string }
  /** `applicationId`: of an application, as the registry calls it. */
  | { readonly kind: 'pending'; readonly applicationId?: string }
  | {
      readonly kind: 'rejected';
      readonly code: RejectionCode;
      /** In the registry's words: for the operator alone. See `explain-refusal.ts` for what customers are told. */
      readonly reason: string;
      /** In our own words, where our side has refused before it asked the registry. */
      readonly explanation?: string;
    }
  | {
      readonly kind: 'unknown';
      readonly reason: string;
      /** It certainly was not: the registry takes so many commands, and its turn has not come. */
      readonly isUnsent?: true;
      /** Some of its commands were carried out, and are not taken back: to ask for it again goes on with it. */
      readonly isHalfDone?: true;
    };

/** Result codes of RFC 5730 3 that callers distinguish; `other` is every other refusal. */
export type RejectionCode =
  | 'object_exists'
  | 'object_does_not_exist'
  | 'not_authorized'
  | 'bad_auth_code'
  | 'status_prohibits'
  | 'not_eligible'
  | 'pending_transfer'
  | 'not_pending_transfer'
  | 'wrong_expiry'
  | 'policy'
  /** Other objects at the registry refer to it. */
  | 'in_use'
  /** Another holder: the registry takes one by a trade alone. */
  | 'needs_trade'
  /** Our account at the registry does not cover it: nobody's fault but ours. */
  | 'no_credit'
  | 'other';

/** A command that costs something. */
interface PaidCommand {
  /** For all its years: a registry that asks for another fee refuses it. Absent: whatever it asks. */
  readonly fee?: RegistryFee;
}

/** Every mutation carries an id that our side chose (clTRID): it identifies the command in the logs of both sides. */
interface Command {
  readonly name: string;
  readonly transactionId: string;
}

export interface CreateCommand extends Command, PaidCommand, HeldMark {
  readonly years: number;
  readonly registrant: Registrant;
  readonly nameservers: readonly string[];
  readonly isPrivate: boolean;
  /** Where the registry demands it. */
  readonly claimsNotice?: AcceptedNotice | undefined;
  /** It is an application in that phase: in any other it is refused. Undefined: it is none. */
  readonly application?: LaunchPhaseName | undefined;
}

export interface RenewCommand extends Command, PaidCommand {
  readonly years: number;
  /** What `info` showed; the registry refuses (`wrong_expiry`) when it has changed. */
  readonly currentExpiresAt: string;
}

export interface TransferCommand extends Command, PaidCommand {
  readonly authCode: string;
  readonly years: number;
}

export interface RestoreCommand extends Command, PaidCommand {}

/** A name of ours is to have another holder, who is all of its contacts too. */
export interface TradeCommand extends Command {
  readonly registrant: Registrant;
  readonly isPrivate: boolean;
}

/** The present or last trade of a name. */
export interface RegistryTrade {
  readonly state: 'pending' | 'approved' | 'refused';
  /** By the registry's clock. */
  readonly requestedAt: string;
}

/** Members that are absent stay as they are. */
export interface UpdateCommand extends Command {
  /** clientTransferProhibited, clientUpdateProhibited and clientDeleteProhibited, together: the registrar lock. */
  readonly locked?: boolean;
  /** clientTransferProhibited alone: what every new name gets. */
  readonly transferLocked?: true;
  /** clientHold: the name is taken out of the DNS. */
  readonly held?: boolean;
  readonly isPrivate?: boolean;
  /** In place of who holds it; nothing where the registry knows of nobody. */
  readonly registrant?: Registrant;
  /** The whole set, in place of what is there. */
  readonly nameservers?: readonly string[];
  /** The hosts below the name, all of them. One that is gone must be nobody's nameserver any more. */
  readonly hosts?: readonly RegistryHost[];
  readonly dsRecords?: readonly DsRecord[];
  /** Null: nobody knows one afterwards. */
  readonly authCode?: string | null;
}

/** The present or last transfer of a name. */
export interface RegistryTransfer {
  /** Whether this service's registrar asked for it. */
  readonly isOurs: boolean;
  readonly state: 'pending' | 'approved' | 'rejected' | 'cancelled';
  /** The registry's id of the registrar that asked. */
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** While it is pending, when the registry approves it by itself; afterwards, when it ended. */
  readonly actsAt: string;
  /** The end of the term that it leads, or has led, to, where the registry tells (RFC 5731 3.2.4). */
  readonly expiresAt?: string;
}

export type TransferDecision = 'approve' | 'reject';

export interface DecideCommand extends Command {
  readonly decision: TransferDecision;
}

/** A message of the registry's queue, such as the end of a pending operation. It stays first until it is acknowledged. */
export interface RegistryMessage {
  readonly id: string;
  readonly queuedAt: string;
  readonly name: string;
  readonly kind:
    | 'registration_completed'
    | 'registration_failed'
    | 'renewal_completed'
    | 'renewal_failed'
    | 'transfer_completed'
    | 'transfer_failed'
    | 'trade_completed'
    | 'trade_failed'
    /** Another registrar took the name, or asks for it. */
    | 'transferred_away'
    | 'transfer_requested'
    /** What it asked for was rejected or cancelled. */
    | 'transfer_out_ended'
    | 'deleted'
    /** It is understood, and nothing follows from it. */
    | 'notice'
    /** Our account has less than the registry likes. */
    | 'low_balance'
    /** It is not understood. */
    | 'other'
    /** What carries it is broken: its text is what can be shown of that. */
    | 'unreadable';
  readonly text: string;
  /** Of the application that it is about. */
  readonly applicationId?: string | undefined;
  /** That our side gave the command which it is about, where it tells that. */
  readonly transactionId?: string | undefined;
  /** Where the message tells it. */
  readonly balance?: RegistryBalance | undefined;
}

/** Of a read. */
export interface ReadOptions {
  /** There is no answer after so long. Default: as the adapter has it. */
  readonly timeoutMs?: number | undefined;
  /** Of `info`: tell the hosts below the name too, each of which may be a question of its own. */
  readonly withHosts?: boolean | undefined;
  /** Of `check`: neither fees nor what a launch demands, which may be questions of their own. */
  readonly onlyAvailability?: boolean | undefined;
}

/** What a registry does by itself, and asks of registrars. */
export interface RegistryHabits {
  /**
   * It renews names by itself at the end of their term, and takes that back where they are deleted within so many days. Undefined: it
   * does not.
   */
  readonly autoRenewGraceDays: number | undefined;
  /** A name that is deleted so soon after its registration costs nothing; of what its owner paid we keep a fee, in EUR. Undefined: it costs all the same. */
  readonly addGrace?: { readonly days: number; readonly feeCents: number } | undefined;
  /** New names get clientTransferProhibited. */
  readonly locksNewNames?: boolean | undefined;
  /** Another holder is a command of its own, which costs something. */
  readonly trades?: boolean | undefined;
  /** What it takes no registrant without, beside name and e-mail address. */
  readonly requiredContact: readonly ('city' | 'country')[];
  /** The id that a name's registrant has there when it is registered through us. Undefined: it does not tell one from another. */
  readonly registrantIdOf?: ((name: string, registrant: Registrant) => string) | undefined;
}

/** What our account at a registry may still spend, in the registry's currency. */
export interface RegistryBalance {
  readonly availableCents: number;
  /** ISO 4217; undefined: the registry does not say. */
  readonly currency?: string | undefined;
  /** Of when it is; undefined: of now. */
  readonly observedAt?: string | undefined;
}

/** What it takes to look at all of a registry's names each day. */
export interface DailyLook {
  /** That may be spent on it in a day. */
  readonly commands: number;
  /** Names in one `check`. */
  readonly namesACheck: number;
  /** Of one `info`, at most. */
  readonly commandsARead: number;
}

/** One registry behind the port: what is asked of it alone. */
export interface RegistryMember {
  /** As metrics, logs and the operator know it. */
  readonly id: string;
  /** The suffixes of the names that are, or would be, there; undefined: of all names. */
  readonly zones: readonly string[] | undefined;
  readonly habits: RegistryHabits;
  /** Undefined: every name is read, as that costs nothing. */
  readonly dailyLook?: DailyLook | undefined;
  /** The operator is told once our account there has less than that. */
  readonly warnBelowCents?: number | undefined;
  /** Undefined: the registry does not tell. Throws `RegistryUnavailable`. */
  readBalance(): Promise<RegistryBalance | undefined>;
  /** The oldest message, and how many there are. Throws `RegistryUnavailable`, `UnreadableQueue` too. */
  poll(): Promise<{ readonly message: RegistryMessage; readonly count: number } | undefined>;
  /** Throws `RegistryUnavailable`, `UnreadableQueue` where it is refused; the message then stays in the queue. */
  acknowledge(messageId: string): Promise<void>;
  /** Sessions that are logged in; undefined where there are none to speak of. */
  countSessions(): number | undefined;
}

export interface Registry {
  readonly kind: 'simulated' | 'epp';
  /** The registries behind it: itself, or those that it chooses from by the suffix of a name. */
  readonly members: readonly RegistryMember[];
  /** Of the registry that a name is at, or would be. */
  habitsOf(name: string): RegistryHabits;
  /** In the order of the names; those that the registry gave no answer for in time are `unknown`. Never throws. */
  check(names: readonly string[], options?: ReadOptions): Promise<Availability[]>;
  /** What a command would cost us now; undefined: the registry does not say. Throws `RegistryUnavailable`. */
  feeOf(question: FeeQuestion): Promise<RegistryFee | undefined>;
  /** `held`: where that is of no use for the name, the name is refused. Throws `RegistryUnavailable`. */
  launchDemandOf(name: string, held?: HeldMark): Promise<LaunchDemand>;
  /** Undefined: the registry does not tell. Throws `RegistryUnavailable`. */
  applicationOf(application: AskedApplication): Promise<ApplicationState | undefined>;
  /**
   * Undefined: the registry has no such object, or does not report it yet. One of ours whose creation it has taken and not
   * finished may be reported with the status `pendingCreate`. Throws `RegistryUnavailable`.
   */
  info(name: string, options?: ReadOptions): Promise<RegistryDomain | undefined>;
  /** Undefined: there was none, or the registry does not tell us. Throws `RegistryUnavailable`. */
  transferOf(name: string): Promise<RegistryTransfer | undefined>;
  create(command: CreateCommand): Promise<MutationOutcome>;
  renew(command: RenewCommand): Promise<MutationOutcome>;
  transfer(command: TransferCommand): Promise<MutationOutcome>;
  /** Sends nothing where the name has that holder, so repeating it is safe. */
  trade(command: TradeCommand): Promise<MutationOutcome>;
  /** Undefined: there was none, or the registry does not tell us. Throws `RegistryUnavailable`. */
  tradeOf(name: string): Promise<RegistryTrade | undefined>;
  /** Of a name of ours that another registrar asks for. */
  decideTransfer(command: DecideCommand): Promise<MutationOutcome>;
  update(command: UpdateCommand): Promise<MutationOutcome>;
  delete(command: Command): Promise<MutationOutcome>;
  /** Brings a name back out of the redemption period (RFC 3915), with the report that the registry may want. */
  restore(command: RestoreCommand): Promise<MutationOutcome>;
  /** Starts background work and connections, if any. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A registry that is one alone. */
export interface SingleRegistry extends Registry, RegistryMember {}

/** The registry gave no answer in time: nothing is known. */
export class RegistryUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RegistryUnavailable';
  }
}

/** It shows a name of ours without the day on which its term ends: of that nothing is known. */
export function expiryNotShown(name: string): RegistryUnavailable {
  return new RegistryUnavailable(`the registry does not show when the term of ${name} ends`);
}

/** Its oldest message stays there: not even its id is to be found, or the registry refuses to remove it. */
export class UnreadableQueue extends RegistryUnavailable {}

/** It was not asked: it takes so many commands, and others came first. */
export class RegistryBusy extends RegistryUnavailable {}
