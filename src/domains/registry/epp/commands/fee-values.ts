/** What the versions of the fee extension have in common. Amounts are in the smallest unit of a currency that has two decimals. */
import { EppFault } from '../epp-fault.ts';
import { childrenOf, type XmlElement } from '../xml/element.ts';

export type FeeCommand = 'create' | 'renew' | 'transfer' | 'restore';

export interface FeeQuestion {
  /** The namespace of the version. */
  readonly uri: string;
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
    /** Absent: the one that was asked for. */
    readonly currency?: string;
    /** `standard` is false for names with a price of their own. */
    readonly isStandard?: boolean;
  }[];
}

/** What a registrar agrees to pay, or has paid. */
export interface Fee {
  /** The namespace of the version. */
  readonly uri: string;
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

const feeCommands: readonly string[] = ['create', 'renew', 'transfer', 'restore'] satisfies FeeCommand[];

export function isFeeCommand(name: string | undefined): name is FeeCommand {
  return name !== undefined && feeCommands.includes(name);
}

export function findTotal(parent: XmlElement): number | undefined {
  const fees = childrenOf(parent, 'fee');
  if (fees.length === 0) return undefined;
  return fees.reduce((total, { text }) => total + parseAmount(text.trim()), 0);
}
