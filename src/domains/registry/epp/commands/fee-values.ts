/** What the versions of the fee extension have in common. Amounts are in the smallest unit of a currency that has two decimals. */
import { LAUNCH_PHASES, type LaunchPhaseName } from '../../registry.ts';
import { EppFault } from '../epp-fault.ts';
import { childrenOf, type XmlElement } from '../xml/element.ts';

export type FeeCommand = 'create' | 'renew' | 'transfer' | 'restore';

interface AskedCommand {
  readonly name: FeeCommand;
  readonly years?: number;
  /** Of a launch, in which it has a price of its own (RFC 8748 3.8). */
  readonly phase?: LaunchPhaseName;
}

export interface FeeQuestion {
  /** The namespace of the version. */
  readonly uri: string;
  /** Absent: the registry's own. */
  readonly currency?: string | undefined;
  readonly commands: readonly AskedCommand[];
}

/** What one name costs. */
export interface FeeAnswer {
  readonly name: string;
  /** The registry's word for its kind: `premium`. */
  readonly category?: string | undefined;
  readonly commands: readonly (AskedCommand & {
    /** Undefined: the command cannot be had, or the registry does not say. */
    readonly amountCents?: number;
    /** Absent: the one that was asked for. */
    readonly currency?: string;
    /** `standard` is false for names with a price of their own. */
    readonly isStandard?: boolean;
    /** The part of the amount that an application costs. */
    readonly application?: { readonly amountCents: number; readonly isRefundable: boolean };
  })[];
}

/** Attributes of the element that names the command. */
export function phaseAttributes({ phase }: AskedCommand): Readonly<Record<string, string>> {
  if (phase === undefined) return {};
  return { phase: phase.phase, ...(phase.name === undefined ? {} : { subphase: phase.name }) };
}

/** 2306 for a phase that RFC 8334 does not have. */
export function readPhaseAttributes({ phase: text, subphase: name }: XmlElement['attributes']): {
  phase?: LaunchPhaseName;
} {
  if (text === undefined) return {};
  const phase = LAUNCH_PHASES.find((known) => known === text);
  if (phase === undefined) throw new EppFault(2306, `fee: there is no phase ${text}`);
  return { phase: name === undefined ? { phase } : { phase, name } };
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
