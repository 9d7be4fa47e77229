import { addSeconds, addYears } from '../term.ts';
import {
  type CommandContext,
  lockDomainState,
  readDomainName,
  requireCovered,
  requireNoStatus,
  requireSettled,
  requireSponsor,
  requireYears,
  store,
} from './command-context.ts';
import { chargeOf, type DomainState, MAX_YEARS, withTerm } from './life-cycle.ts';
import { policyOf } from './policy.ts';
import type { RenewDomain, RenewedDomain } from './registry-core.ts';
import { completed, pending, Refusal, type Result } from './replies.ts';

export async function renewDomain(context: CommandContext, command: RenewDomain): Promise<Result<RenewedDomain>> {
  const { now, session, svTRID } = context;
  const domain = await lockDomainState(context, command.name);
  const { name } = domain;
  requireSponsor(context, domain, name);
  requireSettled(domain);
  requireNoStatus(domain, 'clientRenewProhibited');
  requireYears(command.years);
  const expiresAt = requireTerm(domain, command, now);
  const policy = policyOf(name);
  if (policy === 'refuse_renew') throw new Refusal(2306, `the registry's policy does not allow renewing ${name}`);
  const { fees } = readDomainName(name, context.prices);
  const feeCents = fees.renewCents * command.years;
  await requireCovered(context, { agreedCents: command.feeCents, feeCents, isPremium: fees.isPremium });
  const renewed = { name, expiresAt, feeCents };
  const fails = policy === 'fail_renew';
  if (context.delays.renewSeconds === 0 && !fails) {
    const after = { ...withTerm(domain, expiresAt, now), updatedBy: session.registrarId, updatedAt: now };
    const charges = [chargeOf(domain, 'renew', command.years, now)];
    await store(context, domain, { domain: after, notices: [], charges });
    return completed(renewed);
  }
  const completesAt = addSeconds(now, context.delays.renewSeconds);
  const wait = {
    command: 'renew',
    years: command.years,
    fails,
    completesAt,
    clTRID: session.clTRID ?? null,
    svTRID,
  } as const;
  await store(context, domain, { domain: { ...domain, pending: wait }, notices: [] });
  return pending(renewed);
}

/** The end of the new term, if the caller knows that of the present one and it is not too far away. */
function requireTerm(domain: DomainState, command: RenewDomain, now: Date): Date {
  const current = domain.expiresAt.toISOString().slice(0, 10);
  if (command.currentExpiryDate !== current) {
    throw new Refusal(2004, `${domain.name} expires on ${current}, not on ${command.currentExpiryDate}`, 'curExpDate');
  }
  const expiresAt = addYears(domain.expiresAt, command.years);
  if (expiresAt <= addYears(now, MAX_YEARS)) return expiresAt;
  throw new Refusal(2105, `a term of ${domain.name} ends at most ${MAX_YEARS} years from now`, 'period');
}
