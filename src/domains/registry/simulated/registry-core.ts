/**
 * The simulated registry itself: a thick registry with several registrars, in the terms of EPP (RFC 5730 to 5733, RGP 3915,
 * secDNS 5910, fee 8748). The service's own adapter and an EPP server stand on it side by side. See `policy.ts` for the
 * names that behave in a special way, `life-cycle.ts` for how a name ages.
 *
 * Every command is one transaction and answers a `Reply`; it throws only when the store fails. What is due by the clock is
 * applied before a command reads an object, so nothing depends on `runDue` being called in time.
 *
 * Names and host names are ASCII, compared in lower case. Times are UTC `Date`s. Money is in integer cents (EUR).
 */
import type { DsRecord } from '../registry.ts';

/** Who calls: an authenticated registrar and its own id of the command, which a later notice about it repeats. */
export interface Session {
  readonly registrarId: string;
  readonly clTRID?: string | undefined;
}

/** Result codes of RFC 5730 3 that the registry uses. */
export type SuccessCode = 1000 | 1001 | 1300 | 1301;
export type RefusalCode =
  | 2003
  | 2004
  | 2005
  | 2102
  | 2104
  | 2105
  | 2106
  | 2200
  | 2201
  | 2202
  | 2300
  | 2301
  | 2302
  | 2303
  | 2304
  | 2305
  | 2306
  | 2400;

/** `message` is the standard's text for the code, `reason` says more. `svTRID` is the registry's id of the command. */
export type Reply<Data> =
  | {
      readonly ok: true;
      readonly code: SuccessCode;
      readonly message: string;
      readonly svTRID: string;
      readonly data: Data;
    }
  | {
      readonly ok: false;
      readonly code: RefusalCode;
      readonly message: string;
      readonly svTRID: string;
      readonly reason: string;
      /** The element at fault, as EPP names it, without a prefix: `curExpDate`, `period`, `fee`. */
      readonly element?: string;
    };

/** What a registrar may spend, all its charges together; `warnBelowCents`: it is told once less than that is left. */
export interface Credit {
  readonly cents: number;
  readonly warnBelowCents?: number;
}

export interface AccountBalance {
  readonly creditLimitCents: number;
  /** What has been charged. */
  readonly balanceCents: number;
  readonly availableCents: number;
}

/** Undefined: as much as it likes. */
export type CreditOf = (registrarId: string) => Credit | undefined;

/** Of a zone: registrations and renewals by the year, transfers and restorations as a whole. */
export interface Fees {
  readonly createCents: number;
  readonly renewCents: number;
  readonly transferCents: number;
  readonly restoreCents: number;
  /** Of another holder. Default 0. */
  readonly tradeCents?: number;
  /** Years that a transfer adds. Default 1. */
  readonly transferYears?: number;
  /** A price of one name's own: commands must name it. */
  readonly isPremium?: true;
}

/** The fees of a zone such as `com` or `co.uk`, or of a name in it; undefined: the registry does not serve the zone. */
export type PriceList = (zone: string, name?: string) => Fees | undefined;

/** What the registrar says a command costs (RFC 8748); 2004 when it is something else. */
export interface FeeAgreement {
  readonly feeCents?: number | undefined;
}

/** `awaitsReport`: it is not done, and will cost what is said. */
export interface RestoredDomain extends RenewedDomain {
  readonly awaitsReport: boolean;
}

export interface DomainCheck {
  readonly name: string;
  readonly state: 'available' | 'taken' | 'reserved' | 'invalid' | 'not_served';
  /** Why it is not available. */
  readonly reason?: string;
  /** Absent for `invalid` and `not_served`. */
  readonly fees?: Fees;
}

/** RFC 5731 2.3: those that a registrar may set. */
export type ClientStatus =
  | 'clientDeleteProhibited'
  | 'clientHold'
  | 'clientRenewProhibited'
  | 'clientTransferProhibited'
  | 'clientUpdateProhibited';

export interface DomainContact {
  readonly type: 'admin' | 'billing' | 'tech';
  readonly id: string;
}

export interface DomainInfo {
  readonly name: string;
  readonly roid: string;
  /** RFC 5731 2.3; `ok` or `inactive` when there is nothing else to say. Sorted. */
  readonly statuses: readonly string[];
  /** RFC 3915 3.1: addPeriod, redemptionPeriod, pendingDelete. */
  readonly rgpStatuses: readonly string[];
  readonly registrant: string;
  readonly contacts: readonly DomainContact[];
  /** Sorted. */
  readonly nameservers: readonly string[];
  /** Host objects whose names lie below this one. Sorted. */
  readonly subordinateHosts: readonly string[];
  readonly sponsor: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly updatedBy?: string;
  readonly updatedAt?: Date;
  readonly transferredAt?: Date;
  readonly expiresAt: Date;
  readonly dsRecords: readonly DsRecord[];
  /** Whether the registrant's contact asks that its data be kept from public look-ups. */
  readonly isPrivate: boolean;
  /** For the sponsor alone. */
  readonly authInfo?: string;
}

export interface CreateDomain extends FeeAgreement {
  readonly name: string;
  /** 1 to 10. */
  readonly years: number;
  /** Id of a contact object. */
  readonly registrant: string;
  readonly contacts?: readonly DomainContact[];
  /** Names of host objects, at most 13. */
  readonly nameservers?: readonly string[];
  /** 6 to 64 characters. */
  readonly authInfo: string;
  readonly dsRecords?: readonly DsRecord[];
  /** What it costs beside the registration that the name is applied for, and whether that comes back where it fails. */
  readonly application?: { readonly feeCents: number; readonly isRefunded: boolean } | undefined;
}

export interface CreatedDomain {
  readonly name: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly feeCents: number;
}

export interface RenewDomain extends FeeAgreement {
  readonly name: string;
  /** `YYYY-MM-DD`, in UTC. 2004 with the element `curExpDate` when the name expires on another day. */
  readonly currentExpiryDate: string;
  readonly years: number;
}

/** `expiresAt` is the new one; with code 1001 it holds once the renewal has completed. */
export interface RenewedDomain {
  readonly name: string;
  readonly expiresAt: Date;
  readonly feeCents: number;
}

/** RFC 5730 2.9.3.4. */
export type TransferStatus =
  | 'pending'
  | 'clientApproved'
  | 'clientCancelled'
  | 'clientRejected'
  | 'serverApproved'
  | 'serverCancelled';

export interface DomainTransfer {
  readonly name: string;
  readonly status: TransferStatus;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  /** Who has acted, or is to act. */
  readonly actedBy: string;
  /** When it was acted upon; while pending, when the registry approves it by itself. */
  readonly actedAt: Date;
  /** The expiry that the transfer leads, or has led, to. */
  readonly expiresAt: Date;
}

export interface RequestTransfer extends FeeAgreement {
  readonly name: string;
  readonly authInfo: string;
  /** What the zone's transfers add, also when absent; another number is 2306. */
  readonly years?: number;
}

/** A name with another holder: at once, or when both have consented. */
export interface RequestTrade {
  readonly name: string;
  /** Id of a contact object. */
  readonly registrant: string;
  readonly contacts: readonly DomainContact[];
  /** Whether the name keeps its DS records. */
  readonly keepsKeys: boolean;
}

export interface DomainTrade {
  readonly name: string;
  /** Of those of a transfer: `serverCancelled` where one of both has not consented, or the name was deleted meanwhile. */
  readonly status: Extract<TransferStatus, 'pending' | 'serverApproved' | 'serverCancelled'>;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly registrant: string;
  readonly previousRegistrant: string;
  /** While pending, when both will have consented; afterwards, when it ended. */
  readonly actedAt: Date;
}

/** Adding what is there and removing what is not changes nothing. `set`: the whole, in place of what is there. */
export type SetChange<Item> =
  | { readonly add?: readonly Item[]; readonly remove?: readonly Item[] }
  | { readonly set: readonly Item[] };

/** Members that are absent stay as they are. */
export interface UpdateDomain {
  readonly name: string;
  readonly statuses?: SetChange<ClientStatus>;
  readonly nameservers?: SetChange<string>;
  readonly dsRecords?: SetChange<DsRecord>;
  readonly contacts?: SetChange<DomainContact>;
  readonly registrant?: string;
  readonly authInfo?: string;
}

/** RFC 5733. `type` int: ASCII only. */
export interface PostalInfo {
  readonly type: 'int' | 'loc';
  readonly name: string;
  readonly organization?: string;
  /** Up to three lines. */
  readonly street: readonly string[];
  readonly city: string;
  readonly region?: string;
  readonly postalCode?: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
}

export interface ContactData {
  /** One or two, of different types. */
  readonly postalInfo: readonly PostalInfo[];
  /** E.164 as EPP writes it: +49.301234567 */
  readonly voice?: string;
  readonly fax?: string;
  readonly email: string;
  readonly authInfo: string;
  /** RFC 5733 2.9: whether the data may be shown to the public. False is what `isPrivate` of a name means. */
  readonly disclose: boolean;
}

export interface CreateContact extends ContactData {
  /** 3 to 16 characters, one id space for all registrars. */
  readonly id: string;
}

export interface ContactInfo extends Omit<CreateContact, 'authInfo'> {
  readonly roid: string;
  /** `ok`, and `linked` while a name uses it. */
  readonly statuses: readonly string[];
  readonly sponsor: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly updatedBy?: string;
  readonly updatedAt?: Date;
  /** For the sponsor alone. */
  readonly authInfo?: string;
}

export interface UpdateContact extends Partial<ContactData> {
  readonly id: string;
}

export interface HostData {
  readonly name: string;
  /** IPv4 and IPv6. Needed for a host below a name of the registry, refused for any other. */
  readonly addresses: readonly string[];
}

export interface HostInfo extends HostData {
  readonly roid: string;
  /** `ok`, and `linked` while a name is delegated to it. */
  readonly statuses: readonly string[];
  readonly sponsor: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly updatedBy?: string;
  readonly updatedAt?: Date;
}

/** `value`: the id of a contact or the name of a host. */
export interface ObjectCheck {
  readonly value: string;
  readonly available: boolean;
  readonly reason?: string;
}

/** RFC 5731 3.3: how a command ended that was answered with 1001. */
export interface PendingAction {
  readonly type: 'pendingAction';
  readonly command: 'create' | 'renew';
  readonly name: string;
  readonly succeeded: boolean;
  readonly clTRID?: string;
  readonly svTRID: string;
  readonly at: Date;
}

export interface PollMessage {
  readonly id: string;
  readonly queuedAt: Date;
  readonly text: string;
  /** The name that it is about. */
  readonly name: string;
  readonly data:
    | PendingAction
    /** A transfer was asked for or has ended; sent to the side that did not act (both, when the registry did). */
    | { readonly type: 'transfer'; readonly transfer: DomainTransfer }
    /** A trade that waited has ended. */
    | { readonly type: 'trade'; readonly trade: DomainTrade }
    /** The name is deleted, or enters the next phase after its term. */
    | { readonly type: 'lifeCycle'; readonly event: 'expired' | 'redemption' | 'pendingDelete' | 'deleted' }
    /** Free text, about no name. */
    | { readonly type: 'announcement' }
    /** Less than the threshold is left of the registrar's credit. */
    | ({ readonly type: 'lowBalance' } & Omit<AccountBalance, 'balanceCents'> & { readonly thresholdCents: number });
}

export interface RegistryCore {
  /** What a name costs; undefined: it is in no zone that is served. */
  feesOf(name: string): Fees | undefined;
  /** Makes the registrar, or gives it the password. Passwords are kept as scrypt hashes. */
  ensureRegistrar(registrar: { readonly id: string; readonly name: string; readonly password?: string }): Promise<void>;
  /** 2200 for an unknown registrar, one without a password, or a wrong one. */
  login(credentials: {
    readonly registrarId: string;
    readonly password: string;
    readonly newPassword?: string | undefined;
  }): Promise<Reply<undefined>>;

  /** In the order of the names. */
  checkDomains(session: Session, names: readonly string[]): Promise<Reply<DomainCheck[]>>;
  /**
   * Without authInfo anybody sees everything but authInfo; a wrong one is 2202. A name that is being created is seen by its
   * sponsor alone (2201 for others).
   */
  infoDomain(session: Session, domain: { name: string; authInfo?: string | undefined }): Promise<Reply<DomainInfo>>;
  createDomain(session: Session, command: CreateDomain): Promise<Reply<CreatedDomain>>;
  renewDomain(session: Session, command: RenewDomain): Promise<Reply<RenewedDomain>>;
  requestTransfer(session: Session, command: RequestTransfer): Promise<Reply<DomainTransfer>>;
  /** The present or last transfer, for both sides and any holder of the authInfo. 2301: there was none. */
  queryTransfer(
    session: Session,
    domain: { name: string; authInfo?: string | undefined },
  ): Promise<Reply<DomainTransfer>>;
  /** By the sponsor. */
  approveTransfer(session: Session, domain: { name: string }): Promise<Reply<DomainTransfer>>;
  /** By the sponsor. */
  rejectTransfer(session: Session, domain: { name: string }): Promise<Reply<DomainTransfer>>;
  /** By the one who asked. */
  cancelTransfer(session: Session, domain: { name: string }): Promise<Reply<DomainTransfer>>;
  /** By the sponsor. 2300 while one is pending; 2306 for who holds it already. */
  requestTrade(session: Session, command: RequestTrade): Promise<Reply<DomainTrade>>;
  /** The present or last trade, for the sponsor. 2301: there was none. */
  queryTrade(session: Session, domain: { name: string }): Promise<Reply<DomainTrade>>;
  updateDomain(session: Session, command: UpdateDomain): Promise<Reply<undefined>>;
  /** 1000: gone at once (within the five days after its creation). 1001: in its redemption period. */
  deleteDomain(session: Session, domain: { name: string }): Promise<Reply<undefined>>;
  /** RFC 3915's restore request. 2304 outside the redemption period. */
  restoreDomain(session: Session, command: { name: string } & FeeAgreement): Promise<Reply<RestoredDomain>>;
  /** Where the request is not done without it. 2304 where none waits for it. */
  reportRestore(session: Session, domain: { name: string }): Promise<Reply<RestoredDomain>>;

  checkContacts(session: Session, ids: readonly string[]): Promise<Reply<ObjectCheck[]>>;
  /** For its sponsor, the sponsor of a name that uses it, and any holder of the authInfo; 2201 for others. */
  infoContact(session: Session, contact: { id: string; authInfo?: string | undefined }): Promise<Reply<ContactInfo>>;
  createContact(session: Session, command: CreateContact): Promise<Reply<{ id: string; createdAt: Date }>>;
  updateContact(session: Session, command: UpdateContact): Promise<Reply<undefined>>;
  /** 2305 while a name uses it. */
  deleteContact(session: Session, contact: { id: string }): Promise<Reply<undefined>>;

  checkHosts(session: Session, names: readonly string[]): Promise<Reply<ObjectCheck[]>>;
  infoHost(session: Session, host: { name: string }): Promise<Reply<HostInfo>>;
  /** A host below a name of the registry is made by that name's sponsor, with addresses; any other without them. */
  createHost(session: Session, command: HostData): Promise<Reply<{ name: string; createdAt: Date }>>;
  /** Where nameservers are attributes of names: the host is there afterwards, with these addresses if there are any. */
  nameHost(session: Session, command: HostData): Promise<Reply<undefined>>;
  updateHost(session: Session, command: { name: string; addresses: SetChange<string> }): Promise<Reply<undefined>>;
  /** 2305 while a name is delegated to it. */
  deleteHost(session: Session, host: { name: string }): Promise<Reply<undefined>>;

  /** The oldest message (see `MessageHabits`) and how many there are: code 1301; 1300 and undefined when there is none. */
  requestMessage(session: Session): Promise<Reply<{ message: PollMessage; count: number } | undefined>>;
  /** Queues a text that is about no name. */
  announce(registrarId: string, text: string): Promise<void>;
  /** Answers how many are left, and the id of the next. 2303: no such message, or acknowledged already. */
  acknowledgeMessage(session: Session, id: string): Promise<Reply<{ count: number; nextId?: string }>>;

  /** 2303 for a registrar whose credit is not limited. */
  readBalance(session: Session): Promise<Reply<AccountBalance>>;

  /**
   * Gives a name to another registrar by hand, as a court has it or a mistake of the registry: without a code, whatever its statuses, and nobody is
   * told or charged. A name that is there already stays as it is. 2304 while something is pending.
   */
  moveDomain(domain: { readonly name: string; readonly registrarId: string }): Promise<Reply<undefined>>;

  /**
   * Applies what is due by the clock; answers how many names it touched, and in how many milliseconds the next is due. Safe in any number
   * of processes at once.
   */
  runDue(): Promise<{ readonly touched: number; readonly nextInMs: number | undefined }>;
}
