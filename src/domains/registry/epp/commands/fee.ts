/**
 * What commands cost (RFC 8748, and the drafts before it: fee-drafts.ts). What is sent and read says by its namespace which version it is
 * of; transforming commands and their answers are alike in all.
 */

import { FEE, FEE_URIS, feeDraftUri } from '../namespaces.ts';
import { childrenOf, element, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import {
  draftAnswersElement,
  objectsElement,
  oneCommandElement,
  readDraftAnswers,
  readObjects,
  readOneCommand,
} from './fee-drafts.ts';
import {
  type Fee,
  type FeeAnswer,
  type FeeQuestion,
  findTotal,
  formatAmount,
  isFeeCommand,
  phaseAttributes,
  readPhaseAttributes,
} from './fee-values.ts';
import { findYears, optional, readBoolean, requireText, yearsElement } from './values.ts';

/** How the versions ask in a check: of all its names at once, by one command only, or of each name by itself. */
type Form = 'commands' | 'one_command' | 'objects';

function formOf(uri: string): Form {
  if (uri === FEE || uri === feeDraftUri('0.21')) return 'commands';
  return uri === feeDraftUri('0.11') ? 'one_command' : 'objects';
}

/** The questions that have to be asked one after the other for this one. */
export function splitQuestion(question: FeeQuestion): FeeQuestion[] {
  if (formOf(question.uri) !== 'one_command') return [question];
  return question.commands.map((command) => ({ ...question, commands: [command] }));
}

export function feeQuestionElement(question: FeeQuestion, names: readonly string[]): XmlElement {
  switch (formOf(question.uri)) {
    case 'commands':
      return commandsElement(question);
    case 'one_command':
      return oneCommandElement(question);
    case 'objects':
      return objectsElement(question, names);
  }
}

function commandsElement({ uri, currency, commands }: FeeQuestion): XmlElement {
  const fee = elementsOf(uri);
  return fee('check', [
    optional(uri, 'currency', currency),
    ...commands.map((command) =>
      fee('command', [yearsElement(uri, command.years)], { name: command.name, ...phaseAttributes(command) }),
    ),
  ]);
}

/** Commands that have no fee here, such as update, are left out. */
export function readFeeQuestion(check: XmlElement): FeeQuestion {
  switch (formOf(check.uri)) {
    case 'commands':
      return readCommands(check);
    case 'one_command':
      return readOneCommand(check);
    case 'objects':
      return readObjects(check);
  }
}

function readCommands(check: XmlElement): FeeQuestion {
  return {
    uri: check.uri,
    currency: findText(check, 'currency'),
    commands: childrenOf(check, 'command').flatMap((command) => {
      const { name } = command.attributes;
      if (!isFeeCommand(name)) return [];
      const years = findYears(command);
      return [{ name, ...(years === undefined ? {} : { years }), ...readPhaseAttributes(command.attributes) }];
    }),
  };
}

/** In the version of that namespace. */
export function feeAnswersElement(uri: string, currency: string, answers: readonly FeeAnswer[]): XmlElement {
  if (formOf(uri) !== 'commands') return draftAnswersElement(uri, currency, answers);
  const fee = elementsOf(uri);
  return fee('chkData', [
    fee('currency', currency),
    ...answers.map((answer) =>
      fee(
        'cd',
        [
          fee('objID', answer.name),
          optional(uri, 'class', answer.category),
          ...answer.commands.map((command) => {
            const { name, years, amountCents, isStandard } = command;
            return fee(
              'command',
              [
                yearsElement(uri, years),
                ...amountElements(uri, command),
                amountCents === undefined ? fee('reason', 'not available') : undefined,
              ],
              {
                name,
                ...phaseAttributes(command),
                ...(isStandard === undefined || uri !== FEE ? {} : { standard: isStandard ? '1' : '0' }),
              },
            );
          }),
        ],
        { avail: answer.commands.some((command) => command.amountCents !== undefined) ? '1' : '0' },
      ),
    ),
  ]);
}

/** What an application costs stands apart (RFC 8748 3.4.1, 3.4.2). */
function amountElements(
  uri: string,
  { amountCents, application }: Pick<FeeAnswer['commands'][number], 'amountCents' | 'application'>,
): XmlElement[] {
  if (amountCents === undefined) return [];
  if (application === undefined) return [element(uri, 'fee', formatAmount(amountCents))];
  const { amountCents: applicationCents, isRefundable } = application;
  const refundable = isRefundable ? '1' : '0';
  return [
    element(uri, 'fee', formatAmount(applicationCents), {
      description: 'Application Fee',
      refundable,
      applied: 'immediate',
    }),
    element(uri, 'fee', formatAmount(amountCents - applicationCents), {
      description: 'Registration Fee',
      refundable: '1',
      applied: 'delayed',
    }),
  ];
}

/** Several fees of one command are added up. */
export function readFeeAnswers(data: XmlElement): FeeAnswer[] {
  if (formOf(data.uri) !== 'commands') return readDraftAnswers(data);
  const currency = findText(data, 'currency');
  return childrenOf(data, 'cd').map((answer) => ({
    name: requireText(answer, 'objID').toLowerCase(),
    ...(findText(answer, 'class') === undefined ? {} : { category: findText(answer, 'class') }),
    commands: childrenOf(answer, 'command').flatMap((command) => {
      const { name, standard } = command.attributes;
      if (!isFeeCommand(name)) return [];
      const years = findYears(command);
      const amountCents = findTotal(command);
      return [
        {
          name,
          ...(years === undefined ? {} : { years }),
          ...(amountCents === undefined ? {} : { amountCents }),
          ...(currency === undefined ? {} : { currency }),
          ...(standard === undefined ? {} : { isStandard: readBoolean(standard, 'standard') }),
        },
      ];
    }),
  }));
}

export function isFee(uri: string): boolean {
  return FEE_URIS.includes(uri);
}

/** `create`, `renew`, `transfer`, `update` in a command; `creData` and so on in its answer. */
export function feeElement(local: string, { uri, currency, amountCents }: Fee): XmlElement {
  return element(uri, local, [element(uri, 'currency', currency), element(uri, 'fee', formatAmount(amountCents))]);
}

/** The fee among the elements of an extension, whichever command or answer it is for. */
export function findFee(extensions: readonly XmlElement[]): Fee | undefined {
  const found = extensions.find(({ uri, local }) => isFee(uri) && local !== 'check' && local !== 'chkData');
  if (found === undefined || findChild(found, 'fee') === undefined) return undefined;
  const amountCents = findTotal(found);
  if (amountCents === undefined) return undefined;
  return { uri: found.uri, currency: findText(found, 'currency') ?? 'EUR', amountCents };
}

/** What the registrar may still spend, where an answer tells it (RFC 8748 3.6, 3.7): what is left and what it may owe. */
export function findFeeBalance(
  extensions: readonly XmlElement[],
): { readonly availableCents: number; readonly currency: string | undefined } | undefined {
  const found = extensions.find(({ uri }) => isFee(uri));
  const [balance, limit] = [findText(found, 'balance'), findText(found, 'creditLimit')];
  if (balance === undefined) return undefined;
  const [balanceCents, limitCents] = [findCents(balance), limit === undefined ? 0 : findCents(limit)];
  if (balanceCents === undefined || limitCents === undefined) return undefined;
  return { availableCents: balanceCents + limitCents, currency: findText(found, 'currency') };
}

/** Undefined for what is no amount: not worth losing an answer for. */
function findCents(text: string): number | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,2}))?0*$/.exec(text);
  if (match === null) return undefined;
  const cents = Number(match[2]) * 100 + Number((match[3] ?? '').padEnd(2, '0'));
  return match[1] === '-' ? -cents : cents;
}
