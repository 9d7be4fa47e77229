/** Names that an operator of the simulated registry sets apart: with a price of their own, or kept back. */
import type { Fees, PriceList } from './registry-core.ts';

export interface SpecialNames {
  /** What a year of these costs, registered, renewed or transferred; in cents. */
  readonly premium?: ReadonlyMap<string, number>;
  /** Cannot be registered. */
  readonly reserved?: ReadonlySet<string>;
}

export function withPremiumNames(prices: PriceList, premium: ReadonlyMap<string, number> = new Map()): PriceList {
  return (zone, name) => {
    const fees = prices(zone, name);
    const cents = name === undefined ? undefined : premium.get(name);
    return fees === undefined || cents === undefined ? fees : premiumFees(fees, cents);
  };
}

function premiumFees(fees: Fees, cents: number): Fees {
  return { ...fees, createCents: cents, renewCents: cents, transferCents: cents, isPremium: true };
}
