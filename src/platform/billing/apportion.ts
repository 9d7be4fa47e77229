/**
 * Whole cents shared out by exact weights, so that they add up to the total (largest remainders): each share is its weight's
 * whole cents, and what is left goes, a cent each, to those whose rest is largest, the first of equals before the others.
 */
export function apportion(totalCents: number, weights: readonly bigint[], unitsACent: bigint): number[] {
  const shares = weights.map((weight) => Number(weight / unitsACent));
  const order = weights
    .map((weight, index) => ({ index, rest: weight % unitsACent }))
    .sort((one, other) => (one.rest === other.rest ? one.index - other.index : one.rest > other.rest ? -1 : 1));
  let left = totalCents - shares.reduce((sum, share) => sum + share, 0);
  for (const { index } of order) {
    if (left <= 0) break;
    shares[index] = (shares[index] ?? 0) + 1;
    left -= 1;
  }
  return shares;
}
