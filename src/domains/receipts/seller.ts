/** Who sells, as it stands on receipts. */
export interface Seller {
  /** Name, address, VAT number. */
  readonly lines: readonly string[];
  /** The VAT that prices contain, in hundredths of a per cent. */
  readonly vatBasisPoints: number;
}

/**
 * What of a total in cents is VAT, where the total contains it: the net amount is rounded to the nearest cent, half a cent up, and the
 * rest is VAT, so that the two are always the total. Of a refund, as of what was paid.
 */
export function splitVat(totalCents: number, vatBasisPoints: number): { netCents: number; vatCents: number } {
  const divisor = 10_000 + vatBasisPoints;
  const net = Math.floor((2 * Math.abs(totalCents) * 10_000 + divisor) / (2 * divisor));
  const netCents = totalCents < 0 ? -net : net;
  return { netCents, vatCents: totalCents - netCents };
}
