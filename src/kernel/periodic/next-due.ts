/** The earliest of the times that are known; undefined: none is. */
export function earliestOf(times: Iterable<Date | null | undefined>): Date | undefined {
  let earliest: Date | undefined;
  for (const time of times) if (time && (earliest === undefined || time < earliest)) earliest = time;
  return earliest;
}

/** What a pass says of it (`PeriodicPass`): the milliseconds from `now`; undefined where there is none. */
export function millisecondsUntil(time: Date | undefined, now: Date): number | undefined {
  return time && time.getTime() - now.getTime();
}
