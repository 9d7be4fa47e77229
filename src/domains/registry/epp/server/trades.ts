/** A registry where another holder is a trade: carries trades out, and refuses updates that would be one. */
import { isHolder } from '../../same-holder.ts';
import type { DomainTrade } from '../../simulated/index.ts';
import type { ContactUpdateCommand } from '../commands/contact.ts';
import type { DomainUpdateCommand } from '../commands/domain-commands.ts';
import { type TradeCommand, type TradeData, tradeDataElement } from '../commands/trade.ts';
import { EppFault } from '../epp-fault.ts';
import { holderOf } from '../registrant-contact.ts';
import type { XmlElement } from '../xml/element.ts';
import { type Answer, agreedExtensions, answerOf, type CommandContext } from './answers.ts';

export async function answerTrade(context: CommandContext, command: TradeCommand): Promise<Answer> {
  const { core, habits, session } = context;
  if (habits.tradeUri === undefined) throw new EppFault(2101, 'the registry has no trades');
  const present = (trade: DomainTrade) => ({ extensions: tradeExtension(context, trade) });
  if (command.operation === 'query') return answerOf(await core.queryTrade(session, command), present);
  const { contacts, keepsKeys, name, registrant } = command;
  return answerOf(await core.requestTrade(session, { name, registrant, contacts, keepsKeys }), present);
}

/** What an answer, or a message, says of a trade. */
export function tradeExtension(context: CommandContext, trade: DomainTrade): XmlElement[] {
  const { tradeUri: uri } = context.habits;
  return uri === undefined ? [] : agreedExtensions(context, [tradeDataElement(uri, dataOf(trade))]);
}

/** Both consent at the same time here. */
function dataOf({ actedAt, name, requestedAt, status, ...trade }: DomainTrade): TradeData {
  const consentAt = status === 'serverApproved' || status === 'pending' ? actedAt.toISOString() : undefined;
  return {
    name,
    status,
    requestedBy: trade.requestedBy,
    requestedAt: requestedAt.toISOString(),
    nextHolder: trade.registrant,
    nextConsentAt: consentAt,
    sponsor: trade.requestedBy,
    presentHolder: trade.previousRegistrant,
    presentConsentAt: consentAt,
  };
}

/** Throws where an update would put somebody else in the place of the holder. */
export async function checkHolder(context: CommandContext, command: DomainUpdateCommand): Promise<void> {
  const { core, habits, session } = context;
  if (habits.tradeUri === undefined || command.registrant === undefined) return;
  const found = await core.infoDomain(session, { name: command.name });
  if (!found.ok || found.data.registrant === command.registrant) return;
  throw new EppFault(2308, 'registrant: another holder is a trade here');
}

/** Throws where a contact would become somebody else. */
export async function checkIdentity(context: CommandContext, command: ContactUpdateCommand): Promise<void> {
  const { core, habits, session } = context;
  if (habits.tradeUri === undefined || command.postalInfo.length === 0) return;
  const found = await core.infoContact(session, { id: command.id });
  if (!found.ok || isHolder(holderOf(found.data), holderOf(command))) return;
  throw new EppFault(2308, 'name: a contact stays who it is here');
}
