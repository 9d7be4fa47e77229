/** Terms as registries count them, in UTC. */

/**
 * The same day and time of day `years` later, in UTC. A term that ends on 29 February and is moved to a year without one
 * ends on 28 February from then on: it is not moved back in the next leap year, and never into March.
 */
export function addYears(date: Date, years: number): Date {
  const moved = new Date(date);
  moved.setUTCFullYear(date.getUTCFullYear() + years);
  if (moved.getUTCMonth() !== date.getUTCMonth()) moved.setUTCDate(0);
  return moved;
}

export function addDays(date: Date, days: number): Date {
  return new Date(date.getTime() + days * 86_400_000);
}

export function addSeconds(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1_000);
}
