/** The date so many years on, as registries count: 29 February becomes the 28th where the year has none. */
export function addYears(from: Date, years: number): Date {
  const to = new Date(from);
  to.setUTCFullYear(from.getUTCFullYear() + years);
  // Past the end of February: setUTCFullYear has gone on into March.
  if (to.getUTCMonth() !== from.getUTCMonth()) to.setUTCDate(0);
  return to;
}
