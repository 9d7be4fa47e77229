/**
 * The TLDs that are on offer where no file of the operator's says otherwise, their terms and prices. A change takes effect with the
 * next start; an order keeps the price that it was made at.
 */
import type { LaunchPhaseName } from '../registry/registry.ts';

export interface YearRange {
  readonly min: number;
  readonly max: number;
}

/** How a TLD is being launched. */
export interface LaunchTerms {
  readonly phase: LaunchPhaseName;
  /** Names are applied for, and the registry decides later who has them. */
  readonly isApplication: boolean;
  /** Whether the price of an application comes back where another has the name. */
  readonly refundsLost: boolean;
}

export interface TldTerms {
  /** The public suffix, in ASCII. */
  readonly tld: string;
  /** EUR retail, a year. */
  readonly registerCents: number;
  /** EUR retail, a year. */
  readonly renewCents: number;
  /** EUR retail, for the transfer and the years that it adds. */
  readonly transferCents: number;
  /** EUR retail, for a change of the owner. */
  readonly tradeCents: number;
  /** EUR retail, for bringing a deleted name back; a year that the registry adds costs a renewal. Undefined: it is not sold. */
  readonly restoreCents: number | undefined;
  /** EUR retail, for an application beside the registration that it leads to; undefined: nothing. */
  readonly applicationCents?: number | undefined;
  /** Undefined: anybody registers names at once. */
  readonly launch?: LaunchTerms | undefined;
  /** What one registration may ask for. */
  readonly registrationYears: YearRange;
  /** What one renewal may ask for; its minimum is what auto-renew buys. */
  readonly renewalYears: YearRange;
  /** What a transfer in adds to the term. */
  readonly transferYears: number;
  /** How far ahead of today a name can be paid for. */
  readonly maxTermYears: number;
  /** What DELETE does: away at the registry now, or released at the end of the term that is paid for. */
  readonly deletes: 'at_once' | 'at_expiry';
  /** How long after its expiry a name can still be renewed at the ordinary price. */
  readonly graceDays: number;
  /** How long after a deletion a name can be restored, before anyone may register it. */
  readonly redemptionDays: number;
  /** Registrants of names that come from then on confirm their e-mail addresses: see verifications/. Undefined: nobody has to. */
  readonly verifyRegistrantsFrom?: Date | undefined;
  /** A change of the registrant takes the consent of both, and locks transfers for so many days: see registrant-changes/. Undefined: it does not. */
  readonly changeLockDays?: number | undefined;
  /** The registrar may consent for registrants who have authorized it: see registrant-changes/designated-agent.ts. */
  readonly changeAgent?: boolean | undefined;
}

type Prices = readonly [registerCents: number, renewCents: number, transferCents: number, tradeCents: number];

/** Terms that ICANN's contracts give every generic TLD. */
export const GENERIC_TERMS = {
  registrationYears: { min: 1, max: 10 },
  renewalYears: { min: 1, max: 10 },
  transferYears: 1,
  maxTermYears: 10,
  deletes: 'at_once',
  graceDays: 30,
  redemptionDays: 30,
} as const;

/** Registries ask several times the price of a year. */
const RESTORE_CENTS = 9_900;

/** Registries of countries that sell a year at a time and take no name back before its term ends. */
const YEARLY = {
  ...GENERIC_TERMS,
  registrationYears: { min: 1, max: 1 },
  renewalYears: { min: 1, max: 1 },
  deletes: 'at_expiry',
  graceDays: 0,
} as const;

function offer(tld: string, prices: Prices, terms: Partial<TldTerms> = {}): TldTerms {
  const [registerCents, renewCents, transferCents, tradeCents] = prices;
  return {
    tld,
    registerCents,
    renewCents,
    transferCents,
    tradeCents,
    restoreCents: RESTORE_CENTS,
    ...GENERIC_TERMS,
    ...terms,
  };
}

/** In the order in which they are listed and suggested: the best known first. */
export const offeredTlds: readonly TldTerms[] = [
  offer('com', [1190, 1190, 1190, 0]),
  offer('net', [1390, 1390, 1390, 0]),
  offer('org', [1190, 1290, 1190, 0]),
  offer('io', [3990, 4490, 4490, 0]),
  offer('dev', [1290, 1490, 1490, 0]),
  offer('app', [1490, 1690, 1690, 0]),
  offer('ai', [7990, 7990, 15980, 0], {
    registrationYears: { min: 2, max: 10 },
    renewalYears: { min: 2, max: 10 },
    transferYears: 2,
  }),
  offer('eu', [790, 790, 790, 0], { deletes: 'at_expiry', graceDays: 0, redemptionDays: 40 }),
  offer('de', [790, 790, 790, 0], { ...YEARLY }),
  offer('co', [2490, 2990, 2990, 0], {
    registrationYears: { min: 1, max: 5 },
    renewalYears: { min: 1, max: 5 },
    maxTermYears: 5,
  }),
  offer('me', [1490, 1890, 1890, 0]),
  offer('xyz', [990, 1390, 1390, 0]),
  offer('info', [1490, 1990, 1990, 0]),
  offer('biz', [1690, 1890, 1890, 0]),
  offer('name', [990, 990, 990, 0]),
  offer('pro', [1490, 1990, 1990, 0]),
  offer('online', [1990, 2990, 2990, 0]),
  offer('site', [1990, 2990, 2990, 0]),
  offer('website', [1490, 2490, 2490, 0]),
  offer('store', [2490, 4490, 4490, 0]),
  offer('shop', [1990, 3290, 3290, 0]),
  offer('cloud', [1490, 2190, 2190, 0]),
  offer('tech', [2990, 4990, 4990, 0]),
  offer('blog', [1990, 2690, 2690, 0]),
  offer('page', [1090, 1290, 1290, 0]),
  offer('work', [890, 1090, 1090, 0]),
  offer('works', [2990, 3290, 3290, 0]),
  offer('studio', [2490, 3290, 3290, 0]),
  offer('digital', [2990, 3490, 3490, 0]),
  offer('agency', [1990, 2590, 2590, 0]),
  offer('software', [2990, 3790, 3790, 0]),
  offer('systems', [2490, 2990, 2990, 0]),
  offer('tools', [2990, 3290, 3290, 0]),
  offer('run', [1990, 2290, 2290, 0]),
  offer('live', [1990, 2690, 2690, 0]),
  offer('space', [1990, 2790, 2790, 0]),
  offer('world', [2490, 3290, 3290, 0]),
  offer('ch', [990, 990, 990, 0], { ...YEARLY, redemptionDays: 40 }),
  offer('li', [990, 990, 990, 0], { ...YEARLY, redemptionDays: 40 }),
  offer('at', [1290, 1290, 1290, 990], { ...YEARLY, redemptionDays: 60 }),
  offer('nl', [790, 790, 790, 0], { ...YEARLY, deletes: 'at_once', redemptionDays: 40 }),
  offer('be', [790, 790, 790, 990], { ...YEARLY, deletes: 'at_once', redemptionDays: 40 }),
  offer('fr', [990, 990, 990, 0], { graceDays: 0 }),
  offer('it', [990, 990, 990, 1490], { ...YEARLY, deletes: 'at_once', graceDays: 10 }),
  offer('es', [990, 990, 990, 0], { graceDays: 10, redemptionDays: 10 }),
  offer('uk', [890, 890, 890, 1290], { deletes: 'at_expiry', redemptionDays: 60 }),
  offer('co.uk', [890, 890, 890, 1290], { deletes: 'at_expiry', redemptionDays: 60 }),
  offer('us', [990, 1190, 1190, 0]),
  offer('ca', [1390, 1390, 1390, 0]),
  offer('in', [990, 1190, 1190, 0]),
  offer('so', [5990, 6990, 6990, 0]),
  offer('to', [4490, 4490, 4490, 0]),
  offer('tv', [2990, 3490, 3490, 0]),
  offer('cc', [990, 1190, 1190, 0]),
];
