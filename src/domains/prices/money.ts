/** Money is in integer cents inside; euros with at most two decimals are what callers send and get. */

/** No price, balance or top-up reaches it: 1 000 000 EUR. */
export const MAX_CENTS = 100_000_000;

const EUROS = /^(0|[1-9]\d{0,6})(?:\.(\d{1,2}))?$/;

/**
 * The cents of an amount in euros: 12.34, "12.34", "12.3" or "12". Undefined for anything else: more than two decimals,
 * signs, exponents, blanks, leading zeros, NaN, and more than `MAX_CENTS`. A number is read through the shortest decimal
 * that names it, the one that its sender wrote: 1.005 has three decimals, and 0.1 + 0.2 has seventeen.
 */
export function parsePrice(value: number | string): number | undefined {
  const match = EUROS.exec(String(value));
  if (match === null) return undefined;
  const [, euros = '0', decimals = ''] = match;
  const cents = Number(euros) * 100 + Number(decimals.padEnd(2, '0'));
  return cents > MAX_CENTS ? undefined : cents;
}

/** As the interface's JSON has amounts: a number whose shortest decimal has at most two places. */
export function toEuros(cents: number): number {
  // The quotient is the double nearest to the exact amount, and so prints as it.
  return requireCents(cents) / 100;
}

/** For people: `12.30 EUR`. */
export function formatEuros(cents: number): string {
  return `${(requireCents(cents) / 100).toFixed(2)} EUR`;
}

function requireCents(cents: number): number {
  if (!Number.isSafeInteger(cents)) throw new RangeError(`${cents} is not an amount in whole cents`);
  return cents;
}
