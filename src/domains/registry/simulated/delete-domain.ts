import { addDays, addYears } from '../term.ts';
import { takeRegistrationBack } from './bill.ts';
import {
  type CommandContext,
  lockDomainState,
  readDomainName,
  requireCovered,
  requireNoStatus,
  requireNoTrade,
  requireSettled,
  requireSponsor,
  store,
} from './command-context.ts';
import { isInAddGrace } from './info-domain.ts';
import { chargeOf, type DomainState, enterRedemption, RESTORE_REPORT_DAYS } from './life-cycle.ts';
import type { FeeAgreement, RestoredDomain } from './registry-core.ts';
import { completed, pending, Refusal, type Result } from './replies.ts';

/** Within the days after its creation the name is gone at once; later it can be restored for a while. */
export async function deleteDomain(context: CommandContext, name: string): Promise<Result<undefined>> {
  const { db, now, session } = context;
  const domain = await lockDomainState(context, name);
  requireSponsor(context, domain, domain.name);
  requireSettled(domain);
  requireNoTrade(domain);
  requireNoStatus(domain, 'clientDeleteProhibited');
  if (domain.subordinateHosts.length > 0) {
    throw new Refusal(2305, `${domain.name} has hosts below it: delete ${domain.subordinateHosts.join(', ')} first`);
  }
  if (isInAddGrace(domain, now)) {
    const registrar = session.registrarId;
    await takeRegistrationBack(db, { name: domain.name, registrar, since: domain.createdAt, at: now });
    await store(context, domain, { domain: undefined, notices: [] });
    return completed(undefined);
  }
  // No message: the answer says the same.
  await store(context, domain, { ...enterRedemption(domain, now), notices: [] });
  return pending(undefined);
}

/**
 * A name whose term has ended is restored with as many years as it takes to end in the future: one. Where the registry wants a report, it is
 * not done before that has come.
 */
export async function restoreDomain(
  context: CommandContext,
  command: { name: string } & FeeAgreement,
): Promise<Result<RestoredDomain>> {
  const { now } = context;
  const domain = await lockDomainState(context, command.name);
  const { name } = domain;
  requireSponsor(context, domain, name);
  if (domain.phase !== 'redemption') throw new Refusal(2304, `${name} is not in its redemption period`);
  const { feeCents } = priceOf(context, domain);
  await requireCovered(context, { agreedCents: command.feeCents, feeCents });
  if (!context.restoreReports) return restore(context, domain);
  const waiting = { ...domain, phase: 'pendingRestore', phaseUntil: addDays(now, RESTORE_REPORT_DAYS) } as const;
  await store(context, domain, { domain: waiting, notices: [] });
  return completed({ name, expiresAt: domain.expiresAt, feeCents, awaitsReport: true });
}

/** What the report says is the registrar's word, and not checked. */
export async function reportRestore(context: CommandContext, name: string): Promise<Result<RestoredDomain>> {
  const domain = await lockDomainState(context, name);
  requireSponsor(context, domain, domain.name);
  if (domain.phase !== 'pendingRestore') throw new Refusal(2304, `no restoration of ${domain.name} waits for a report`);
  return restore(context, domain);
}

async function restore(context: CommandContext, domain: DomainState): Promise<Result<RestoredDomain>> {
  const { now, session } = context;
  const { name } = domain;
  const { feeCents, years } = priceOf(context, domain);
  const expiresAt = addYears(domain.expiresAt, years);
  const restored = { ...domain, expiresAt, phase: 'active', phaseUntil: null } as const;
  const after = { ...restored, updatedBy: session.registrarId, updatedAt: now };
  await store(context, domain, { domain: after, notices: [], charges: [chargeOf(domain, 'restore', years, now)] });
  return completed({ name, expiresAt, feeCents, awaitsReport: false });
}

function priceOf({ now, prices }: CommandContext, domain: DomainState) {
  let years = 0;
  while (addYears(domain.expiresAt, years) <= now) years += 1;
  const { fees } = readDomainName(domain.name, prices);
  return { years, feeCents: fees.restoreCents + fees.renewCents * years };
}
