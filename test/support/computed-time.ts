/** Processor time for the timed checks of the soak. */

/** Milliseconds that this thread has computed so far: how long it waited for a processor does not count. */
export function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The middle of three measurements: one that a busy machine, compilation or garbage collection made long does not count. */
export async function medianOfThree(measure: () => number | Promise<number>): Promise<number> {
  const values = [await measure(), await measure(), await measure()].sort((one, other) => one - other);
  return values[1] ?? Number.NaN;
}

/** Milliseconds that this thread computes for `work`, which must be synchronous: the median of three tries. */
export function medianComputedMs(work: () => unknown): Promise<number> {
  return medianOfThree(() => {
    const startMs = computedMs();
    work();
    return computedMs() - startMs;
  });
}
