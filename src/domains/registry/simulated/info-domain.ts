import { addDays } from '../term.ts';
import { type CommandContext, isSameSecret } from './command-context.ts';
import { ADD_GRACE_DAYS, type DomainState } from './life-cycle.ts';
import type { DomainInfo } from './registry-core.ts';
import { completed, Refusal, type Result } from './replies.ts';
import type { Phase } from './tables.ts';

/** What the caller may see of the name. */
export function infoDomain(
  context: CommandContext,
  domain: DomainState,
  authInfo: string | undefined,
): Result<DomainInfo> {
  const isSponsor = domain.sponsor === context.session.registrarId;
  if (domain.phase === 'creating' && !isSponsor) throw new Refusal(2201, `${domain.name} is being registered`);
  if (authInfo !== undefined && !isSameSecret(authInfo, domain.authInfo)) {
    throw new Refusal(2202, `that is not the auth code of ${domain.name}`);
  }
  return completed({
    name: domain.name,
    roid: domain.roid,
    statuses: statusesOf(domain),
    rgpStatuses: rgpStatusesOf(domain, context.now),
    registrant: domain.registrant,
    contacts: domain.contacts,
    nameservers: domain.nameservers,
    subordinateHosts: domain.subordinateHosts,
    sponsor: domain.sponsor,
    createdBy: domain.createdBy,
    createdAt: domain.createdAt,
    ...(domain.updatedBy === null ? {} : { updatedBy: domain.updatedBy }),
    ...(domain.updatedAt === null ? {} : { updatedAt: domain.updatedAt }),
    ...(domain.transferredAt === null ? {} : { transferredAt: domain.transferredAt }),
    expiresAt: domain.expiresAt,
    dsRecords: domain.dsRecords,
    isPrivate: domain.isPrivate,
    ...(isSponsor ? { authInfo: domain.authInfo } : {}),
  });
}

/** In the words of RFC 5731. RFC 3915 says more of them. */
const LEAVING: readonly Phase[] = ['redemption', 'pendingRestore', 'pendingDelete'];

/** RFC 5731 2.3. */
function statusesOf(domain: DomainState): string[] {
  const statuses = [...domain.clientStatuses];
  if (domain.phase === 'expired') statuses.push('serverHold');
  if (LEAVING.includes(domain.phase)) statuses.push('pendingDelete');
  if (domain.pending !== null) statuses.push(domain.pending.command === 'create' ? 'pendingCreate' : 'pendingRenew');
  if (domain.transfer?.status === 'pending') statuses.push('pendingTransfer');
  if (domain.nameservers.length === 0) statuses.push('inactive');
  return statuses.length === 0 ? ['ok'] : statuses.sort();
}

/** RFC 3915 3.1. */
function rgpStatusesOf(domain: DomainState, now: Date): string[] {
  if (domain.phase === 'redemption') return ['redemptionPeriod'];
  if (domain.phase === 'pendingRestore') return ['pendingRestore'];
  if (domain.phase === 'pendingDelete') return ['pendingDelete'];
  if (isInAddGrace(domain, now)) return ['addPeriod'];
  return domain.autoRenewUntil !== null && now < domain.autoRenewUntil ? ['autoRenewPeriod'] : [];
}

/** Whether a delete takes the registration back. It ends with a transfer. */
export function isInAddGrace(domain: DomainState, now: Date): boolean {
  return domain.phase === 'active' && domain.transferredAt === null && now < addDays(domain.createdAt, ADD_GRACE_DAYS);
}
