/** Tests whose steps must all fall on one day. */

/**
 * Does the work of a test, and does it once more where it failed while the day turned, in UTC: then its steps saw two days, or two
 * months. What fails within one day has failed. The work makes whatever it counts, so that nothing of a first try is in a second one.
 */
export async function withinOneDay(work: () => Promise<void>): Promise<void> {
  for (;;) {
    const day = today();
    try {
      return await work();
    } catch (error) {
      if (today() === day) throw error;
    }
  }
}

/** `2026-11-22` */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}
