/** A registrar's account at the registry: Verisign's balance mapping and its messages of a low balance. Amounts in cents. */
import { BALANCE, LOW_BALANCE } from '../namespaces.ts';
import { elementsOf, findText, type XmlElement } from '../xml/element.ts';
import type { Codec } from './codec.ts';
import { formatAmount, parseAmount } from './fee-values.ts';
import { requireText } from './values.ts';

export interface BalanceInfoCommand {
  readonly kind: 'balance:info';
}

export interface AccountBalance {
  readonly creditLimitCents: number;
  /** What is owed. */
  readonly balanceCents: number;
  readonly availableCents: number;
}

/** A message that less than the threshold is left. */
export interface LowBalance {
  readonly registrarName: string;
  readonly creditLimitCents: number;
  readonly thresholdCents: number;
  readonly availableCents: number;
}

const balance = elementsOf(BALANCE);
const low = elementsOf(LOW_BALANCE);

export const balanceCodecs: { readonly 'balance:info': Codec<BalanceInfoCommand> } = {
  'balance:info': {
    encode: () => ({ object: balance('info'), extensions: [] }),
    decode: () => ({ kind: 'balance:info' }),
  },
};

export function balanceElement({ creditLimitCents, balanceCents, availableCents }: AccountBalance): XmlElement {
  return balance('infData', [
    balance('creditLimit', formatAmount(creditLimitCents)),
    balance('balance', formatAmount(balanceCents)),
    balance('availableCredit', formatAmount(availableCents)),
  ]);
}

/** `currency` is of other registries, which tell it so. Throws `EppFault`. */
export function readBalance(data: XmlElement): {
  readonly availableCents: number;
  readonly currency: string | undefined;
} {
  return { availableCents: readCents(requireText(data, 'availableCredit')), currency: findText(data, 'currency') };
}

export function lowBalanceElement(message: LowBalance): XmlElement {
  return low('pollData', [
    low('registrarName', message.registrarName),
    low('creditLimit', formatAmount(message.creditLimitCents)),
    low('creditThreshold', formatAmount(message.thresholdCents), { type: 'FIXED' }),
    low('availableCredit', formatAmount(message.availableCents)),
  ]);
}

/** Throws `EppFault`. */
export function readLowBalance(data: XmlElement): { readonly availableCents: number } {
  return { availableCents: readCents(requireText(data, 'availableCredit')) };
}

/** An account may be overdrawn. */
function readCents(text: string): number {
  return text.startsWith('-') ? -parseAmount(text.slice(1)) : parseAmount(text);
}
