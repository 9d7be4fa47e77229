import { addSeconds } from '../term.ts';
import {
  type CommandContext,
  isSameSecret,
  lockDomainState,
  readDomainName,
  requireCovered,
  requireNoStatus,
  requireNoTrade,
  requireSettled,
  requireSponsor,
  store,
} from './command-context.ts';
import { type DomainState, endTransfer, expiryAfterTransfer, transferNotice, transferOf } from './life-cycle.ts';
import { isQuickToTransfer, policyOf, QUICK_TRANSFER_SECONDS, rejectsTransfer } from './policy.ts';
import type { DomainTransfer, RequestTransfer } from './registry-core.ts';
import { completed, pending, Refusal, type Result } from './replies.ts';
import type { TransferRecord } from './tables.ts';

export async function requestTransfer(
  context: CommandContext,
  command: RequestTransfer,
): Promise<Result<DomainTransfer>> {
  const { delays, now, session } = context;
  const domain = await lockDomainState(context, command.name);
  const { name } = domain;
  if (domain.authInfo === '' || !isSameSecret(command.authInfo, domain.authInfo))
    throw new Refusal(2202, `that is not the auth code of ${name}`);
  if (domain.sponsor === session.registrarId) throw new Refusal(2106, `${name} is with this registrar already`);
  if (domain.transfer?.status === 'pending') throw new Refusal(2300, `${name} is being transferred already`);
  requireSettled(domain);
  requireNoTrade(domain);
  requireNoStatus(domain, 'clientTransferProhibited');
  const { fees } = readDomainName(name, context.prices);
  const years = fees.transferYears ?? 1;
  if ((command.years ?? years) !== years) throw new Refusal(2306, `a transfer adds ${years} to the term`, 'period');
  const { isPremium, transferCents: feeCents } = fees;
  await requireCovered(context, { agreedCents: command.feeCents, feeCents, isPremium });
  const policy = policyOf(name);
  const seconds = isQuickToTransfer(policy) ? QUICK_TRANSFER_SECONDS : delays.transferSeconds;
  const requested: TransferRecord = {
    status: 'pending',
    requestedBy: session.registrarId,
    requestedAt: now,
    actedBy: domain.sponsor,
    actedAt: addSeconds(now, seconds),
    fails: rejectsTransfer(policy),
    years,
    expiresAt: expiryAfterTransfer(domain.expiresAt, years, now),
  };
  const waiting = { ...domain, transfer: requested };
  if (seconds === 0 && !requested.fails) {
    // The requester has the answer; the other side gets a message.
    const { domain: after, notices, charges = [] } = endTransfer(waiting, 'serverApproved', now);
    await store(context, domain, {
      domain: after,
      charges,
      notices: notices.filter(({ registrar }) => registrar !== session.registrarId),
    });
    return completed(transferOf(name, after?.transfer ?? requested));
  }
  const notice = transferNotice(domain.sponsor, name, requested, now);
  await store(context, domain, { domain: waiting, notices: [notice] });
  return pending(transferOf(name, requested));
}

/** The present or last transfer. */
export function queryTransfer(
  context: CommandContext,
  domain: DomainState,
  authInfo: string | undefined,
): Result<DomainTransfer> {
  const { name, transfer } = domain;
  if (authInfo !== undefined && !isSameSecret(authInfo, domain.authInfo)) {
    throw new Refusal(2202, `that is not the auth code of ${name}`);
  }
  const { registrarId } = context.session;
  const isParty =
    domain.sponsor === registrarId || transfer?.requestedBy === registrarId || transfer?.actedBy === registrarId;
  if (!isParty && authInfo === undefined) throw new Refusal(2201, `${name} belongs to another registrar`);
  if (transfer === null) throw new Refusal(2301, `nobody has asked for ${name}`);
  return completed(transferOf(name, transfer));
}

/** `clientApproved` and `clientRejected` are the sponsor's, `clientCancelled` the other's. */
export async function actOnTransfer(
  context: CommandContext,
  name: string,
  status: 'clientApproved' | 'clientRejected' | 'clientCancelled',
): Promise<Result<DomainTransfer>> {
  const domain = await lockDomainState(context, name);
  const { transfer } = domain;
  if (status !== 'clientCancelled') requireSponsor(context, domain, domain.name);
  if (transfer?.status !== 'pending') throw new Refusal(2301, `${domain.name} is not being transferred`);
  if (status === 'clientCancelled' && transfer.requestedBy !== context.session.registrarId) {
    throw new Refusal(2201, `another registrar has asked for ${domain.name}`);
  }
  const ended = endTransfer(domain, status, context.now);
  await store(context, domain, ended);
  return completed(transferOf(domain.name, ended.domain?.transfer ?? transfer));
}
