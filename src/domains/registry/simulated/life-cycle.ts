/**
 * How a name changes with time. Pure: what is due for one name, and the messages about it to its registrars.
 *
 *   create ─▶ creating ─▶ active ◀────── renewed, or transferred ──────┐
 *                │           │ its term ends                           │
 *                │ fails     ├─────────────▶ expired (serverHold) ─────┤
 *                ▼           │ deleted          │ 30 days              │
 *               gone         ▼                  ▼                      │
 *                ▲       redemption ◀───────────┘                      │
 *                │           │ 30 days     └── restored ──▶ active ────┘
 *                └── 5 days ─ pendingDelete
 *
 * Where restorations want a report, the name is `pendingRestore` until that comes; after seven days without it, it is in redemption again.
 *
 * Deleted within five days of its creation it is gone at once. What is pending (a renewal, a transfer) ends at its own time,
 * and when the name enters redemption. Names of the registrar `elsewhere` are renewed at the end of each term.
 *
 * A registry may renew every name at the end of its term (`autoRenewGraceDays`). For so many days the renewal is taken back by a delete, which
 * leads to redemption, and by a transfer; after them the registrar has paid for it.
 */
import type { DsRecord } from '../registry.ts';
import { addDays, addYears } from '../term.ts';
import type { Charge } from './bill.ts';
import { ELSEWHERE } from './policy.ts';
import type { DomainContact, DomainTrade, DomainTransfer, PollMessage, TransferStatus } from './registry-core.ts';
import type { PendingCommand, Phase, TradeRecord, TransferRecord } from './tables.ts';

export const ADD_GRACE_DAYS = 5;
/** RFC 3915 3.1: within which a report has to come. */
export const RESTORE_REPORT_DAYS = 7;
const EXPIRED_DAYS = 30;
const REDEMPTION_DAYS = 30;
const PENDING_DELETE_DAYS = 5;
/** No term ends later than this many years from now. */
export const MAX_YEARS = 10;

export interface DomainState {
  readonly name: string;
  readonly roid: string;
  readonly sponsor: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly updatedBy: string | null;
  readonly updatedAt: Date | null;
  readonly transferredAt: Date | null;
  readonly expiresAt: Date;
  readonly registrant: string;
  readonly isPrivate: boolean;
  readonly authInfo: string;
  readonly clientStatuses: readonly string[];
  readonly dsRecords: readonly DsRecord[];
  readonly phase: Phase;
  readonly phaseUntil: Date | null;
  /** Until when the last automatic renewal can be taken back. */
  readonly autoRenewUntil: Date | null;
  readonly pending: PendingCommand | null;
  readonly transfer: TransferRecord | null;
  readonly trade: TradeRecord | null;
  readonly contacts: readonly DomainContact[];
  readonly nameservers: readonly string[];
  readonly subordinateHosts: readonly string[];
}

/** A poll message that is to be queued. */
export type Notice = Omit<PollMessage, 'id'> & { readonly registrar: string };

export interface Aged {
  /** Undefined: it is gone. */
  readonly domain: DomainState | undefined;
  readonly notices: readonly Notice[];
  readonly charges?: readonly Charge[];
}

/** What registries differ in. */
export interface Habits {
  /** Undefined: names are not renewed by themselves. */
  readonly autoRenewGraceDays: number | undefined;
}

/** When the clock next changes something; undefined: never, by itself. */
export function nextDue(domain: DomainState): Date | undefined {
  return nextStep(domain)?.at;
}

/** The name as it is at `now`: everything that was due until then has happened, in the order of its times. */
export function age(domain: DomainState, now: Date, habits: Habits): Aged {
  const notices: Notice[] = [];
  const charges: Charge[] = [];
  let current = domain;
  for (;;) {
    const step = nextStep(current);
    if (step === undefined || step.at > now) return { domain: current, notices, charges };
    const aged = step.take(current, step.at, habits);
    notices.push(...aged.notices);
    charges.push(...(aged.charges ?? []));
    if (aged.domain === undefined) return { domain: undefined, notices, charges };
    current = aged.domain;
  }
}

interface Step {
  readonly at: Date;
  readonly take: (domain: DomainState, at: Date, habits: Habits) => Aged;
}

function nextStep(domain: DomainState): Step | undefined {
  const steps: Step[] = [];
  if (domain.pending !== null) steps.push({ at: domain.pending.completesAt, take: endPending });
  if (domain.transfer?.status === 'pending') steps.push({ at: domain.transfer.actedAt, take: endTransferByItself });
  if (domain.trade?.status === 'pending') steps.push({ at: domain.trade.actedAt, take: endTradeByItself });
  const phase = endOfPhase(domain);
  if (phase !== undefined) steps.push(phase);
  // Stable: at the same moment a renewal or transfer is done before the term ends.
  return steps.sort((a, b) => a.at.getTime() - b.at.getTime())[0];
}

function endOfPhase(domain: DomainState): Step | undefined {
  switch (domain.phase) {
    case 'creating':
      return undefined;
    case 'active':
      return { at: domain.expiresAt, take: expire };
    case 'expired':
      return { at: addDays(domain.expiresAt, EXPIRED_DAYS), take: enterRedemption };
    case 'redemption':
      return { at: domain.phaseUntil ?? domain.expiresAt, take: enterPendingDelete };
    case 'pendingRestore':
      return { at: domain.phaseUntil ?? domain.expiresAt, take: returnToRedemption };
    case 'pendingDelete':
      return { at: domain.phaseUntil ?? domain.expiresAt, take: purge };
  }
}

function endPending(domain: DomainState, at: Date): Aged {
  const { pending } = domain;
  if (pending === null) return { domain, notices: [] };
  const notices = [pendingNotice(domain, pending, !pending.fails, at)];
  const rest = { ...domain, pending: null };
  if (pending.command === 'create') {
    return pending.fails
      ? { domain: undefined, notices, charges: refundOf(domain, pending, at) }
      : { domain: { ...rest, phase: 'active' }, notices, charges: [chargeOf(domain, 'create', pending.years, at)] };
  }
  if (pending.fails) return { domain: rest, notices };
  const renewed = withTerm(rest, addYears(domain.expiresAt, pending.years), at);
  const charges = [chargeOf(domain, 'renew', pending.years, at)];
  return { domain: { ...renewed, updatedBy: domain.sponsor, updatedAt: at }, notices, charges };
}

/** What an application has cost that another one has won. */
function refundOf({ sponsor }: DomainState, { refundedCents: cents }: PendingCommand, at: Date): Charge[] {
  return cents === undefined ? [] : [{ registrar: sponsor, kind: 'application', years: 0, cents: -cents, at }];
}

/** To the registrar that has the name. */
export function chargeOf(
  { sponsor }: DomainState,
  kind: Exclude<Charge['kind'], 'application'>,
  years: number,
  at: Date,
): Charge {
  return { registrar: sponsor, kind, years, at };
}

/** The name without its automatic renewal, where that can still be taken back. */
function withoutAutoRenewal(
  domain: DomainState,
  at: Date,
): { readonly domain: DomainState; readonly charges: Charge[] } {
  const { autoRenewUntil: until } = domain;
  if (until === null || at >= until) return { domain, charges: [] };
  const before = { ...domain, expiresAt: addYears(domain.expiresAt, -1), autoRenewUntil: null };
  return { domain: before, charges: [chargeOf(domain, 'auto_renew', -1, at)] };
}

/** The name with another end of its term: one that had expired is active again when that lies ahead. */
export function withTerm(domain: DomainState, expiresAt: Date, at: Date): DomainState {
  return { ...domain, expiresAt, phase: domain.phase === 'expired' && expiresAt > at ? 'active' : domain.phase };
}

/** So many years more, but never beyond ten years from then; a term is never cut short. */
export function expiryAfterTransfer(expiresAt: Date, years: number, at: Date): Date {
  const limit = addYears(at, MAX_YEARS);
  const extended = addYears(expiresAt, years);
  if (extended <= limit) return extended;
  return expiresAt > limit ? expiresAt : limit;
}

function endTransferByItself(domain: DomainState, at: Date): Aged {
  const status = domain.transfer?.fails === true ? 'clientRejected' : 'serverApproved';
  return endTransfer(domain, status, at);
}

/** Ends the pending transfer, with a message to those who did not end it. */
export function endTransfer(domain: DomainState, status: Exclude<TransferStatus, 'pending'>, at: Date): Aged {
  const { sponsor, transfer } = domain;
  if (transfer?.status !== 'pending') return { domain, notices: [] };
  const isApproved = status === 'clientApproved' || status === 'serverApproved';
  const { domain: before, charges } = isApproved ? withoutAutoRenewal(domain, at) : { domain, charges: [] };
  const expiresAt = isApproved ? expiryAfterTransfer(before.expiresAt, transfer.years, at) : domain.expiresAt;
  const actedBy = status === 'clientCancelled' ? transfer.requestedBy : sponsor;
  const ended: TransferRecord = { ...transfer, status, actedBy, actedAt: at, expiresAt };
  const after = isApproved ? handOver(before, ended, at) : { ...domain, transfer: ended };
  if (isApproved) charges.push(chargeOf(after, 'transfer', transfer.years, at));
  const recipients = {
    clientApproved: [transfer.requestedBy],
    clientRejected: [transfer.requestedBy],
    clientCancelled: [sponsor],
    serverApproved: [transfer.requestedBy, sponsor],
    serverCancelled: [transfer.requestedBy, sponsor],
  }[status];
  const notices = recipients.map((registrar) => transferNotice(registrar, domain.name, ended, at));
  return { domain: after, notices, charges };
}

/** To the registrar that asked. The statuses that the former one had set go with it. */
function handOver(domain: DomainState, transfer: TransferRecord, at: Date): DomainState {
  const moved = withTerm(domain, transfer.expiresAt, at);
  return { ...moved, transfer, sponsor: transfer.requestedBy, clientStatuses: [], transferredAt: at };
}

function endTradeByItself(domain: DomainState, at: Date): Aged {
  return endTrade(domain, domain.trade?.fails === true ? 'serverCancelled' : 'serverApproved', at);
}

/** Ends the pending trade, with a message to the registrar that asked. */
export function endTrade(domain: DomainState, status: Exclude<DomainTrade['status'], 'pending'>, at: Date): Aged {
  const { name, trade } = domain;
  if (trade?.status !== 'pending') return { domain, notices: [] };
  const ended: TradeRecord = { ...trade, status, actedAt: at };
  const text = `${status === 'serverApproved' ? 'Trade completed' : 'Trade cancelled'}: ${name}`;
  const data = { type: 'trade', trade: tradeOf(name, ended) } as const;
  const notices = [{ registrar: trade.requestedBy, name, queuedAt: at, text, data }];
  if (status !== 'serverApproved') return { domain: { ...domain, trade: ended }, notices };
  const { contacts, keepsKeys, registrant, requestedBy } = trade;
  const held = { ...domain, trade: ended, registrant, contacts, updatedBy: requestedBy, updatedAt: at };
  const after = keepsKeys ? held : { ...held, dsRecords: [] };
  return { domain: after, notices, charges: [chargeOf(after, 'trade', 0, at)] };
}

export function tradeOf(name: string, trade: TradeRecord): DomainTrade {
  const { actedAt, previousRegistrant, registrant, requestedAt, requestedBy, status } = trade;
  return { name, status, requestedBy, requestedAt, registrant, previousRegistrant, actedAt };
}

function expire(domain: DomainState, at: Date, { autoRenewGraceDays: graceDays }: Habits): Aged {
  const renewed = { ...domain, expiresAt: addYears(domain.expiresAt, 1) };
  if (domain.sponsor === ELSEWHERE) return { domain: renewed, notices: [] };
  if (graceDays !== undefined) {
    const charges = [chargeOf(domain, 'auto_renew', 1, at)];
    return { domain: { ...renewed, autoRenewUntil: addDays(at, graceDays) }, notices: [], charges };
  }
  return { domain: { ...domain, phase: 'expired' }, notices: [lifeCycleNotice(domain, 'expired', at)] };
}

/** By the end of its time, or by a delete. What is pending ends without effect. */
export function enterRedemption(domain: DomainState, at: Date): Aged {
  const { domain: before, charges } = withoutAutoRenewal(domain, at);
  const cut = endTransfer(before, 'serverCancelled', at);
  const untraded = endTrade(before, 'serverCancelled', at);
  const notices = [...cut.notices, ...untraded.notices];
  if (domain.pending !== null) notices.push(pendingNotice(domain, domain.pending, false, at));
  notices.push(lifeCycleNotice(domain, 'redemption', at));
  const after: DomainState = {
    ...before,
    transfer: cut.domain?.transfer ?? domain.transfer,
    trade: untraded.domain?.trade ?? domain.trade,
    pending: null,
    phase: 'redemption',
    phaseUntil: addDays(at, REDEMPTION_DAYS),
  };
  return { domain: after, notices, charges };
}

/** No report came in time (RFC 3915 3.1). */
function returnToRedemption(domain: DomainState, at: Date): Aged {
  const after: DomainState = { ...domain, phase: 'redemption', phaseUntil: addDays(at, REDEMPTION_DAYS) };
  return { domain: after, notices: [lifeCycleNotice(domain, 'redemption', at)] };
}

function enterPendingDelete(domain: DomainState, at: Date): Aged {
  const after: DomainState = { ...domain, phase: 'pendingDelete', phaseUntil: addDays(at, PENDING_DELETE_DAYS) };
  return { domain: after, notices: [lifeCycleNotice(domain, 'pendingDelete', at)] };
}

function purge(domain: DomainState, at: Date): Aged {
  return { domain: undefined, notices: [lifeCycleNotice(domain, 'deleted', at)] };
}

export function transferOf(name: string, transfer: TransferRecord): DomainTransfer {
  const { status, requestedBy, requestedAt, actedBy, actedAt, expiresAt } = transfer;
  return { name, status, requestedBy, requestedAt, actedBy, actedAt, expiresAt };
}

const transferTexts: Record<TransferStatus, string> = {
  pending: 'Transfer requested',
  clientApproved: 'Transfer approved',
  clientCancelled: 'Transfer cancelled',
  clientRejected: 'Transfer rejected',
  serverApproved: 'Transfer approved by the registry',
  serverCancelled: 'Transfer cancelled by the registry',
};

export function transferNotice(registrar: string, name: string, transfer: TransferRecord, at: Date): Notice {
  const data = { type: 'transfer', transfer: transferOf(name, transfer) } as const;
  return { registrar, name, queuedAt: at, text: `${transferTexts[transfer.status]}: ${name}`, data };
}

const lifeCycleTexts = {
  expired: 'Term ended, name on hold',
  redemption: 'In its redemption period',
  pendingDelete: 'About to be deleted',
  deleted: 'Deleted',
} as const;

function lifeCycleNotice(domain: DomainState, event: keyof typeof lifeCycleTexts, at: Date): Notice {
  const { name, sponsor } = domain;
  return {
    registrar: sponsor,
    name,
    queuedAt: at,
    text: `${lifeCycleTexts[event]}: ${name}`,
    data: { type: 'lifeCycle', event },
  };
}

function pendingNotice({ name, sponsor }: DomainState, pending: PendingCommand, succeeded: boolean, at: Date): Notice {
  const { command, svTRID, clTRID } = pending;
  const what = command === 'create' ? 'Registration' : 'Renewal';
  return {
    registrar: sponsor,
    name,
    queuedAt: at,
    text: `${what} ${succeeded ? 'completed' : 'failed'}: ${name}`,
    data: { type: 'pendingAction', command, name, succeeded, svTRID, at, ...(clTRID === null ? {} : { clTRID }) },
  };
}
