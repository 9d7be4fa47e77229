/** What every command works with, and how it loads the name that it is about. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { addYears } from '../term.ts';
import { recordCharges, requireCredit } from './bill.ts';
import { findDomain, insertDomain, lockDomain, removeDomain, updateDomain } from './domain-store.ts';
import { type Aged, age, type DomainState, type Habits, nextDue } from './life-cycle.ts';
import { queueNotices } from './message-store.ts';
import {
  ELSEWHERE,
  ELSEWHERE_AUTH_INFO,
  ELSEWHERE_CONTACT,
  ELSEWHERE_NAMESERVERS,
  isTakenElsewhere,
  policyOf,
} from './policy.ts';
import type { CreditOf, Fees, PriceList, Session } from './registry-core.ts';
import { Refusal } from './replies.ts';
import type { RegistryDb } from './tables.ts';

/** How long the registry takes, in seconds. 0: done at once. */
export interface RegistryDelays {
  /** Default 2. */
  readonly createSeconds: number;
  /** Default 1. */
  readonly renewSeconds: number;
  /** Until a transfer that is not answered is approved. Default 432,000: five days. */
  readonly transferSeconds: number;
  /** Until both holders have consented to a trade. Default 0. */
  readonly tradeSeconds: number;
}

export const defaultDelays: RegistryDelays = {
  createSeconds: 2,
  renewSeconds: 1,
  transferSeconds: 5 * 86_400,
  tradeSeconds: 0,
};

export interface CommandContext extends Habits {
  /** Inside the command's transaction. */
  readonly db: RegistryDb;
  readonly now: Date;
  readonly session: Session;
  readonly svTRID: string;
  readonly delays: RegistryDelays;
  readonly prices: PriceList;
  readonly credit: CreditOf;
  /** Restorations want a report. */
  readonly restoreReports: boolean;
  /** Beside those of policy.ts. */
  readonly reservedNames: ReadonlySet<string>;
}

const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/** Lower case. Refuses (2005) what is no host name. */
export function readHostName(text: string): string {
  const name = text.toLowerCase();
  if (name.length <= 253 && name.includes('.') && name.split('.').every((part) => label.test(part))) return name;
  throw new Refusal(
    2005,
    `${text} is not a name: labels of letters, digits and inner hyphens, with dots between`,
    'name',
  );
}

/** The name, one label below a zone that the registry serves, and the zone's fees. Refuses with 2005 and 2306. */
export function readDomainName(text: string, prices: PriceList): { name: string; fees: Fees } {
  const name = readHostName(text);
  const zone = name.slice(name.indexOf('.') + 1);
  const fees = prices(zone, name);
  if (fees === undefined) throw new Refusal(2306, `no names are registered below ${zone} here`, 'name');
  return { name, fees };
}

/** The name as it is now, locked until the command ends. A name that is taken from the start is inserted here. */
export async function lockDomainState(context: CommandContext, text: string): Promise<DomainState> {
  const domain = await lockDomainStateIfAny(context, text);
  if (domain === undefined) throw new Refusal(2303, `${text} is not registered`, 'name');
  return domain;
}

export async function lockDomainStateIfAny(context: CommandContext, text: string): Promise<DomainState | undefined> {
  const name = text.toLowerCase();
  const domain = await lockDomain(context.db, name);
  const aged = domain === undefined ? undefined : await applyDue(context, domain);
  if (aged !== undefined || !isSeeded(context, name)) return aged;
  await insertDomain(context.db, seedOf(name, context.now));
  return lockDomain(context.db, name);
}

/** As `lockDomainState`, but locks nothing unless something is to be written first. */
export async function readDomainState(
  context: CommandContext,
  text: string,
  inTransaction: (work: (held: CommandContext) => Promise<void>) => Promise<void>,
): Promise<DomainState> {
  const name = text.toLowerCase();
  const domain = await findDomain(context.db, name);
  const isDue = domain !== undefined && isDueAt(domain, context.now);
  if (domain !== undefined && !isDue) return domain;
  if (isDue || isSeeded(context, name)) {
    await inTransaction(async (held) => {
      await lockDomainStateIfAny(held, name);
    });
  }
  const settled = await findDomain(context.db, name);
  if (settled === undefined) throw new Refusal(2303, `${text} is not registered`, 'name');
  return settled;
}

function isDueAt(domain: DomainState, now: Date): boolean {
  const dueAt = nextDue(domain);
  return dueAt !== undefined && dueAt <= now;
}

/** Applies what is due to a name that this transaction has locked. Undefined: it is gone. */
export async function applyDue(
  context: Pick<CommandContext, 'credit' | 'db' | 'now' | 'prices' | 'autoRenewGraceDays'>,
  domain: DomainState,
): Promise<DomainState | undefined> {
  if (!isDueAt(domain, context.now)) return domain;
  const aged = age(domain, context.now, context);
  await store(context, domain, aged);
  return aged.domain;
}

/** Stores a changed name, queues the messages about it, and charges what it costs. */
export async function store(
  context: Pick<CommandContext, 'credit' | 'db' | 'prices'>,
  before: DomainState,
  { domain, notices, charges = [] }: Aged,
): Promise<void> {
  const { db } = context;
  if (domain === undefined) await removeDomain(db, before.name);
  else await updateDomain(db, before, domain);
  await queueNotices(db, notices);
  await recordCharges(context, before.name, charges);
}

function isSeeded(context: CommandContext, name: string): boolean {
  const zone = name.slice(name.indexOf('.') + 1);
  return isTakenElsewhere(policyOf(name)) && context.prices(zone) !== undefined;
}

/** The same for a name each time: created one to five years ago, until the next anniversary. */
function seedOf(name: string, now: Date): Omit<DomainState, 'roid'> {
  const ageDays = 365 + (createHash('sha256').update(name).digest().readUInt16BE() % 1_461);
  const createdAt = new Date(Math.floor(now.getTime() / 86_400_000 - ageDays) * 86_400_000);
  let years = 1;
  while (addYears(createdAt, years) <= now) years += 1;
  return {
    name,
    sponsor: ELSEWHERE,
    createdBy: ELSEWHERE,
    createdAt,
    updatedBy: null,
    updatedAt: null,
    transferredAt: null,
    expiresAt: addYears(createdAt, years),
    registrant: ELSEWHERE_CONTACT,
    isPrivate: true,
    authInfo: ELSEWHERE_AUTH_INFO,
    clientStatuses: policyOf(name) === 'taken_locked' ? ['clientTransferProhibited'] : [],
    dsRecords: [],
    phase: 'active',
    phaseUntil: null,
    autoRenewUntil: null,
    pending: null,
    transfer: null,
    trade: null,
    contacts: [],
    nameservers: ELSEWHERE_NAMESERVERS,
    subordinateHosts: [],
  };
}

export function requireSponsor(context: CommandContext, object: { readonly sponsor: string }, what: string): void {
  if (object.sponsor === context.session.registrarId) return;
  throw new Refusal(2201, `${what} belongs to another registrar`);
}

/** 2304 in a phase or with a pending action in which nothing but its end may happen. */
export function requireSettled(domain: DomainState): void {
  const { phase, pending, transfer } = domain;
  const obstacle =
    phase === 'redemption' || phase === 'pendingDelete'
      ? `is in its ${phase === 'redemption' ? 'redemption period' : 'last days before it is deleted'}`
      : pending !== null
        ? `waits for its ${pending.command === 'create' ? 'registration' : 'renewal'} to complete`
        : transfer?.status === 'pending'
          ? 'is being transferred'
          : undefined;
  if (obstacle !== undefined) throw new Refusal(2304, `${domain.name} ${obstacle}`);
}

/** 2304 while its holder is about to change. */
export function requireNoTrade({ name, trade }: DomainState): void {
  if (trade?.status === 'pending') throw new Refusal(2304, `${name} is getting another holder`);
}

export function requireNoStatus(domain: DomainState, status: string): void {
  if (domain.clientStatuses.includes(status)) throw new Refusal(2304, `${domain.name} has the status ${status}`);
}

export function requireYears(years: number): void {
  if (Number.isInteger(years) && years >= 1 && years <= 10) return;
  throw new Refusal(2004, 'a term is 1 to 10 years', 'period');
}

/** What the caller agreed to is what it costs, and its credit covers it. */
export async function requireCovered(
  { credit, db, session }: CommandContext,
  {
    agreedCents,
    feeCents,
    isPremium,
  }: { agreedCents: number | undefined; feeCents: number; isPremium?: boolean | undefined },
): Promise<void> {
  requireFee(agreedCents, feeCents, isPremium);
  await requireCredit({ credit, db, registrar: session.registrarId }, feeCents);
}

function requireFee(agreedCents: number | undefined, feeCents: number, isPremium = false): void {
  if (isPremium && agreedCents === undefined) {
    throw new Refusal(2306, 'the name has a price of its own, which the command must name', 'fee');
  }
  if (agreedCents === undefined || agreedCents === feeCents) return;
  throw new Refusal(2004, `the fee is ${(feeCents / 100).toFixed(2)} EUR`, 'fee');
}

/** In constant time. */
export function isSameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
