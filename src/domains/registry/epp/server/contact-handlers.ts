/** Carries out the commands of the contact mapping. */
import type { ContactInfo } from '../../simulated/index.ts';
import {
  type ContactCommand,
  type ContactCreateCommand,
  type ContactUpdateCommand,
  contactDataElement,
  createdContactElement,
  type PostalInfo,
} from '../commands/contact.ts';
import { checkResultsElement } from '../commands/domain-results.ts';
import { EppFault } from '../epp-fault.ts';
import { CONTACT } from '../namespaces.ts';
import { type Answer, answerOf, type CommandContext, required } from './answers.ts';
import { checkIdentity } from './trades.ts';

export async function answerContactCommand(context: CommandContext, command: ContactCommand): Promise<Answer> {
  const { core, habits, session } = context;
  if (habits.contacts === 'no_disclose' && 'disclose' in command && command.disclose !== undefined) {
    throw new EppFault(2102, 'disclose: what is shown of contacts is not for registrars to say');
  }
  switch (command.kind) {
    case 'contact:check':
      return answerOf(await core.checkContacts(session, command.ids), (results) => ({
        data: checkResultsElement(CONTACT, 'id', results.map(shortReason)),
      }));
    case 'contact:info':
      return answerOf(await core.infoContact(session, command), (info) => ({
        data: contactDataElement(contactData(info)),
      }));
    case 'contact:create':
      return answerOf(await core.createContact(session, createOf(command)), ({ id, createdAt }) => ({
        data: createdContactElement({ id, createdAt: createdAt.toISOString() }),
      }));
    case 'contact:update':
      await checkIdentity(context, command);
      return answerOf(await core.updateContact(session, updateOf(command)));
    case 'contact:delete':
      return answerOf(await core.deleteContact(session, command));
  }
}

/** The standard allows a reason 32 characters. */
export function shortReason<Result extends { readonly available: boolean }>(result: Result) {
  return { ...result, reason: result.available ? undefined : 'In use' };
}

function createOf({ id, postalInfo, voice, fax, email, authInfo, disclose = true }: ContactCreateCommand) {
  return {
    id,
    postalInfo: postalInfo.map(plainPostalInfo),
    ...(voice === undefined ? {} : { voice }),
    ...(fax === undefined ? {} : { fax }),
    email,
    authInfo: required(authInfo, 'authInfo'),
    disclose,
  };
}

function updateOf(command: ContactUpdateCommand) {
  const { id, postalInfo, voice, fax, email, authInfo, disclose } = command;
  if (command.addStatuses.length > 0 || command.removeStatuses.length > 0) {
    throw new EppFault(2102, 'contacts have no statuses of their registrar here');
  }
  return {
    id,
    ...(postalInfo.length === 0 ? {} : { postalInfo: postalInfo.map(plainPostalInfo) }),
    ...(voice === undefined ? {} : { voice }),
    ...(fax === undefined ? {} : { fax }),
    ...(email === undefined ? {} : { email }),
    ...(authInfo === undefined ? {} : { authInfo }),
    ...(disclose === undefined ? {} : { disclose }),
  };
}

function plainPostalInfo({ organization, region, postalCode, ...others }: PostalInfo) {
  return {
    ...others,
    ...(organization === undefined ? {} : { organization }),
    ...(region === undefined ? {} : { region }),
    ...(postalCode === undefined ? {} : { postalCode }),
  };
}

function contactData(info: ContactInfo) {
  return { ...info, createdAt: info.createdAt.toISOString(), updatedAt: info.updatedAt?.toISOString() };
}
