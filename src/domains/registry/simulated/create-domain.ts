import { addSeconds, addYears } from '../term.ts';
import { recordCharges } from './bill.ts';
import {
  type CommandContext,
  lockDomainStateIfAny,
  readDomainName,
  requireCovered,
  requireYears,
} from './command-context.ts';
import { readDsRecords, requireAuthInfo, requireContacts, requireHosts, uniqueContacts } from './domain-links.ts';
import { insertDomain } from './domain-store.ts';
import { isTakenElsewhere, type NamePolicy, policyOf, SLOW_CREATE_SECONDS } from './policy.ts';
import type { CreateDomain, CreatedDomain } from './registry-core.ts';
import { completed, pending, Refusal, type Result } from './replies.ts';
import type { PendingCommand } from './tables.ts';

export async function createDomain(context: CommandContext, command: CreateDomain): Promise<Result<CreatedDomain>> {
  const { now, session } = context;
  const { name, fees } = readDomainName(command.name, context.prices);
  const policy = context.reservedNames.has(name) ? 'reserved' : policyOf(name);
  requirePermitted(name, policy);
  requireYears(command.years);
  requireAuthInfo(command.authInfo);
  const { application } = command;
  const feeCents = fees.createCents * command.years + (application?.feeCents ?? 0);
  if ((await lockDomainStateIfAny(context, name)) !== undefined)
    throw new Refusal(2302, `${name} is registered already`);
  await requireCovered(context, { agreedCents: command.feeCents, feeCents, isPremium: fees.isPremium });
  const contacts = uniqueContacts(command.contacts ?? []);
  await requireContacts(context, [command.registrant, ...contacts.map(({ id }) => id)]);
  const nameservers = await requireHosts(context, command.nameservers ?? []);
  const wait = waitOf(context, policy, command);
  const expiresAt = addYears(now, command.years);
  const isFirst = await insertDomain(context.db, {
    name,
    sponsor: session.registrarId,
    createdBy: session.registrarId,
    createdAt: now,
    updatedBy: null,
    updatedAt: null,
    transferredAt: null,
    expiresAt,
    registrant: command.registrant,
    isPrivate: false,
    authInfo: command.authInfo,
    clientStatuses: [],
    dsRecords: readDsRecords(command.dsRecords ?? []),
    phase: wait === null ? 'active' : 'creating',
    phaseUntil: null,
    autoRenewUntil: null,
    pending: wait,
    transfer: null,
    trade: null,
    contacts,
    nameservers,
    subordinateHosts: [],
  });
  if (!isFirst) throw new Refusal(2302, `${name} is registered already`);
  const charge = { registrar: session.registrarId, kind: 'create', years: command.years, at: now } as const;
  const { feeCents: cents } = application ?? {};
  await recordCharges(context, name, [
    ...(cents === undefined
      ? []
      : [{ registrar: session.registrarId, kind: 'application', years: 0, cents, at: now } as const]),
    // One that waits is charged when it is done.
    ...(wait === null ? [charge] : []),
  ]);
  const created = { name, createdAt: now, expiresAt, feeCents };
  return wait === null ? completed(created) : pending(created);
}

function requirePermitted(name: string, policy: NamePolicy): void {
  if (isTakenElsewhere(policy)) throw new Refusal(2302, `${name} is registered already`);
  if (policy === 'reserved') throw new Refusal(2306, `${name} is reserved`, 'name');
  if (policy === 'refuse_create') throw new Refusal(2306, `the registry's policy does not allow ${name}`, 'name');
}

/** Null: done at once. */
function waitOf(
  context: CommandContext,
  policy: NamePolicy,
  { application, years }: CreateDomain,
): PendingCommand | null {
  const fails = policy === 'fail_create';
  const seconds = policy === 'slow_create' ? SLOW_CREATE_SECONDS : context.delays.createSeconds;
  if (seconds === 0 && !fails) return null;
  const { now, session, svTRID } = context;
  const completesAt = addSeconds(now, seconds);
  const refundedCents = application?.isRefunded === true ? { refundedCents: application.feeCents } : {};
  return { command: 'create', years, fails, ...refundedCents, completesAt, clTRID: session.clTRID ?? null, svTRID };
}
