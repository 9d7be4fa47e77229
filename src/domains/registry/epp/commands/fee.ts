/** What commands cost (RFC 8748). Amounts are in the smallest unit of a currency that has two decimals. */

import { EppFault } from '../epp-fault.ts';
import { FEE } from '../namespaces.ts';
import { childrenOf, element, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { findYears, optional, readBoolean, requireText, yearsElement } from './values.ts';

export type FeeCommand = 'create' | 'renew' | 'transfer' | 'restore';

export interface FeeQuestion {
  /** Absent: the registry's own. */
  readonly currency?: string | undefined;
  readonly commands: readonly { readonly name: FeeCommand; readonly years?: number }[];
}

/** What one name costs. */
export interface FeeAnswer {
  readonly name: string;
  /** The registry's word for its kind: `premium`. */
  readonly category?: string | undefined;
  readonly commands: readonly {
    readonly name: FeeCommand;
    readonly years?: number;
    /** Undefined: the command cannot be had, or the registry does not say. */
    readonly amountCents?: number;
    /** `standard` is false for names with a price of their own. */
    readonly isStandard?: boolean;
  }[];
}

/** What a registrar agrees to pay, or has paid. */
export interface Fee {
  readonly currency: string;
  readonly amountCents: number;
}

export function formatAmount(cents: number): string {
  return `${cents < 0 ? '-' : ''}${Math.trunc(Math.abs(cents) / 100)}.${String(Math.abs(cents % 100)).padStart(2, '0')}`;
}

/** 2005 for what is no amount, 2004 for one in smaller parts than cents. */
export function parseAmount(text: string): number {
  const match = /^(\d{1,12})(?:\.(\d{1,12}))?$/.exec(text);
  if (match === null) throw new EppFault(2005, `${text} is not an amount`);
  const decimals = (match[2] ?? '').padEnd(2, '0');
  if (!/^0*$/.test(decimals.slice(2))) throw new EppFault(2004, `${text} has more than two decimals`);
  return Number(match[1]) * 100 + Number(decimals.slice(0, 2));
}

const fee = elementsOf(FEE);
const feeCommands: readonly string[] = ['create', 'renew', 'transfer', 'restore'] satisfies FeeCommand[];

function isFeeCommand(name: string | undefined): name is FeeCommand {
  return name !== undefined && feeCommands.includes(name);
}

export function feeQuestionElement(question: FeeQuestion): XmlElement {
  return fee('check', [
    optional(FEE, 'currency', question.currency),
    ...question.commands.map(({ name, years }) => fee('command', [yearsElement(FEE, years)], { name })),
  ]);
}

/** Commands that have no fee here, such as update, are left out. */
export function readFeeQuestion(check: XmlElement): FeeQuestion {
  return {
    currency: findText(check, 'currency'),
    commands: childrenOf(check, 'command').flatMap((command) => {
      const { name } = command.attributes;
      if (!isFeeCommand(name)) return [];
      const years = findYears(command);
      return [{ name, ...(years === undefined ? {} : { years }) }];
    }),
  };
}

export function feeAnswersElement(currency: string, answers: readonly FeeAnswer[]): XmlElement {
  return fee('chkData', [
    fee('currency', currency),
    ...answers.map((answer) =>
      fee(
        'cd',
        [
          fee('objID', answer.name),
          optional(FEE, 'class', answer.category),
          ...answer.commands.map(({ name, years, amountCents, isStandard }) =>
            fee(
              'command',
              [
                yearsElement(FEE, years),
                amountCents === undefined ? undefined : fee('fee', formatAmount(amountCents)),
                amountCents === undefined ? fee('reason', 'not available') : undefined,
              ],
              { name, ...(isStandard === undefined ? {} : { standard: isStandard ? '1' : '0' }) },
            ),
          ),
        ],
        { avail: answer.commands.some((command) => command.amountCents !== undefined) ? '1' : '0' },
      ),
    ),
  ]);
}

/** Several fees of one command are added up. */
export function readFeeAnswers(data: XmlElement): FeeAnswer[] {
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
          ...(standard === undefined ? {} : { isStandard: readBoolean(standard, 'standard') }),
        },
      ];
    }),
  }));
}

function findTotal(parent: XmlElement): number | undefined {
  const fees = childrenOf(parent, 'fee');
  if (fees.length === 0) return undefined;
  return fees.reduce((total, { text }) => total + parseAmount(text.trim()), 0);
}

/** `create`, `renew`, `transfer`, `update` in a command; `creData` and so on in its answer. */
export function feeElement(local: string, { currency, amountCents }: Fee): XmlElement {
  return element(FEE, local, [fee('currency', currency), fee('fee', formatAmount(amountCents))]);
}

/** The fee among the elements of an extension, whichever command or answer it is for. */
export function findFee(extensions: readonly XmlElement[]): Fee | undefined {
  const found = extensions.find(({ uri, local }) => uri === FEE && local !== 'check' && local !== 'chkData');
  if (found === undefined || findChild(found, 'fee') === undefined) return undefined;
  const amountCents = findTotal(found);
  return amountCents === undefined ? undefined : { currency: findText(found, 'currency') ?? 'EUR', amountCents };
}

/** What the registrar may still spend, where an answer tells it (RFC 8748 3.6, 3.7): what is left and what it may owe. */
export function findFeeBalance(
  extensions: readonly XmlElement[],
): { readonly availableCents: number; readonly currency: string | undefined } | undefined {
  const found = extensions.find(({ uri }) => uri === FEE);
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
