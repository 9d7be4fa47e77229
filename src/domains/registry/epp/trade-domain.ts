/**
 * Registries where another holder is a trade. What says who the holder is, name and organization, is left alone by updates there; the rest of the
 * contact is changed in it.
 */
import type { MutationOutcome, Registrant, RegistryTrade, TradeCommand, UpdateCommand } from '../registry.ts';
import { isSuccess } from '../result-codes.ts';
import { isHolder } from '../same-holder.ts';
import type { Step } from '../take-steps.ts';
import type { ContactData, ContactUpdateCommand } from './commands/contact.ts';
import { findTradeData } from './commands/trade.ts';
import { refusalOf, rejected } from './outcomes.ts';
import { type DomainAtRegistry, infoDomain, NO_TRANSFER } from './read-domains.ts';
import { detailsOf, ensureContact, holderOf } from './registrant-contact.ts';
import { contactReferences, type RegistryLink, transactionIdOf } from './registry-link.ts';

export async function tradeDomain(link: RegistryLink, command: TradeCommand): Promise<MutationOutcome> {
  const { name, registrant, transactionId } = command;
  const { contactTypes, tradeUri: uri } = link.rules;
  if (uri === undefined || !(await link.supports(uri))) return rejected('policy', 'the registry has no trades');
  const found = await infoDomain(link, name);
  if (found === undefined) return rejected('object_does_not_exist', `${name} is not at the registry`);
  if (!found.domain.isOurs) return rejected('not_authorized', `${name} is with another registrar`);
  if (found.domain.holder !== undefined && isHolder(found.domain.holder, registrant)) return { kind: 'completed' };
  const contact = await ensureContact(link, command);
  if ('outcome' in contact) return contact.outcome;
  if (contact.id === undefined) return rejected('policy', 'the registry knows of no holders');
  const response = await link.askOnce(
    {
      kind: 'domain:trade',
      operation: 'request',
      uri,
      name,
      registrant: contact.id,
      contacts: contactReferences(contact.id, contactTypes),
      keepsKeys: true,
    },
    transactionIdOf(transactionId, 'trade'),
  );
  const trade = isSuccess(response.code) ? findTradeData(response.extensions) : undefined;
  // AFNIC answers 1000 to a request that waits for both holders.
  return trade !== undefined && tradeStateOf(trade.status) === 'pending'
    ? { kind: 'pending' }
    : link.outcomeOf(response);
}

/** Throws what asking throws, and `RegistryUnavailable` for refusals that say nothing of trades. */
export async function queryTrade(link: RegistryLink, name: string): Promise<RegistryTrade | undefined> {
  const { clientId, tradeUri: uri } = link.rules;
  if (uri === undefined || !(await link.supports(uri))) return undefined;
  const response = await link.askRepeatable({ kind: 'domain:trade', operation: 'query', uri, name });
  if (NO_TRANSFER.includes(response.code)) return undefined;
  if (!isSuccess(response.code)) throw refusalOf(response);
  const trade = findTradeData(response.extensions);
  const state = trade && tradeStateOf(trade.status);
  if (trade === undefined || state === undefined || trade.requestedBy !== clientId) return undefined;
  return { state, requestedAt: trade.requestedAt };
}

/** Undefined: a status that is not known. */
export function tradeStateOf(status: string): RegistryTrade['state'] | undefined {
  switch (status) {
    case 'pending':
      return 'pending';
    case 'clientApproved':
    case 'serverApproved':
      return 'approved';
    case 'clientRejected':
    case 'clientCancelled':
    case 'serverCancelled':
      return 'refused';
    default:
      return undefined;
  }
}

/** What an update that names the holder leads to there: the contact's other data as they are to be. Undefined: they are so already. */
export function planHolderUpdate(
  link: RegistryLink,
  { registrant, transactionId }: UpdateCommand,
  { contact, domain }: DomainAtRegistry,
): Step | { readonly outcome: MutationOutcome } | undefined {
  if (registrant === undefined) return undefined;
  if (contact === undefined || !isHolder(holderOf(contact), registrant)) {
    const reason = `${domain.name} is held by somebody else, and its registry takes another holder by a trade alone`;
    return { outcome: { kind: 'rejected', code: 'needs_trade', reason } };
  }
  const wanted = changeOf(contact.id, registrant);
  if (isAsWanted(contact, wanted)) return undefined;
  const send = async (command: ContactUpdateCommand) =>
    link.outcomeOf(await link.askRepeatable(command, transactionIdOf(transactionId, 'contact')));
  return { send: () => send(wanted), takeBack: () => send(changeBack(contact)) };
}

function changeOf(id: string, registrant: Registrant): ContactUpdateCommand {
  return { kind: 'contact:update', id, ...detailsOf(registrant), addStatuses: [], removeStatuses: [] };
}

function changeBack({ email, id, postalInfo, voice }: ContactData): ContactUpdateCommand {
  return { kind: 'contact:update', id, postalInfo, voice, email, addStatuses: [], removeStatuses: [] };
}

function isAsWanted(contact: ContactData, wanted: ContactUpdateCommand): boolean {
  const data = ({ email, postalInfo, voice }: ContactData | ContactUpdateCommand) =>
    JSON.stringify([
      email ?? null,
      voice ?? null,
      postalInfo.map(({ city, country, name, organization, postalCode, region, street, type }) => [
        ...[type, name, organization ?? null, street, city],
        ...[region ?? null, postalCode ?? null, country.toUpperCase()],
      ]),
    ]);
  return data(contact) === data(wanted);
}
