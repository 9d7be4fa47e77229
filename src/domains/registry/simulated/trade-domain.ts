import { isHolder } from '../same-holder.ts';
import { addSeconds } from '../term.ts';
import { requireCredit } from './bill.ts';
import {
  type CommandContext,
  lockDomainState,
  readDomainName,
  requireNoStatus,
  requireSettled,
  requireSponsor,
  store,
} from './command-context.ts';
import { requireContacts, uniqueContacts } from './domain-links.ts';
import { type DomainState, endTrade, tradeOf } from './life-cycle.ts';
import { policyOf } from './policy.ts';
import type { DomainTrade, RequestTrade } from './registry-core.ts';
import { completed, pending, Refusal, type Result } from './replies.ts';
import type { TradeRecord } from './tables.ts';

/** Of a name of the registrar's own: for another holder. */
export async function requestTrade(context: CommandContext, command: RequestTrade): Promise<Result<DomainTrade>> {
  const { credit, db, delays, now, session } = context;
  const { keepsKeys, registrant } = command;
  const domain = await lockDomainState(context, command.name);
  const { name } = domain;
  requireSponsor(context, domain, name);
  if (domain.trade?.status === 'pending') throw new Refusal(2300, `${name} is getting another holder already`);
  requireSettled(domain);
  requireNoStatus(domain, 'clientUpdateProhibited');
  const contacts = uniqueContacts(command.contacts);
  await requireContacts(context, [registrant, ...contacts.map(({ id }) => id)]);
  await requireAnother(context, domain, registrant);
  const policy = policyOf(name);
  if (policy === 'refuse_trade') throw new Refusal(2306, `the registry's policy does not allow this holder of ${name}`);
  const { fees } = readDomainName(name, context.prices);
  await requireCredit({ credit, db, registrar: session.registrarId }, fees.tradeCents ?? 0);
  const fails = policy === 'fail_trade';
  const requested: TradeRecord = {
    status: 'pending',
    requestedBy: session.registrarId,
    requestedAt: now,
    registrant,
    contacts,
    keepsKeys,
    previousRegistrant: domain.registrant,
    actedAt: addSeconds(now, delays.tradeSeconds),
    fails,
  };
  const waiting = { ...domain, trade: requested };
  if (delays.tradeSeconds > 0 || fails) {
    await store(context, domain, { domain: waiting, notices: [] });
    return pending(tradeOf(name, requested));
  }
  const { domain: after, charges = [] } = endTrade(waiting, 'serverApproved', now);
  // The answer says the same as the message would.
  await store(context, domain, { domain: after, charges, notices: [] });
  return completed(tradeOf(name, after?.trade ?? requested));
}

/** The present or last trade. */
export function queryTrade(context: CommandContext, domain: DomainState): Result<DomainTrade> {
  requireSponsor(context, domain, domain.name);
  if (domain.trade === null) throw new Refusal(2301, `${domain.name} was never traded`);
  return completed(tradeOf(domain.name, domain.trade));
}

/** 2306: that one holds it already. */
async function requireAnother({ db }: CommandContext, domain: DomainState, registrant: string): Promise<void> {
  const ids = [domain.registrant, registrant];
  const rows = await db.selectFrom('registry_contacts').select(['id', 'data']).where('id', 'in', ids).execute();
  const [present, next] = ids.map((id) => rows.find((row) => row.id === id)?.data.postalInfo[0]);
  if (present === undefined || next === undefined || !isHolder(present, next)) return;
  throw new Refusal(2306, `${domain.name} is held by that one already`, 'registrant');
}
