import { computedMs } from './computed-time.ts';

/** The middle of three measurements: one that a busy machine, compilation or garbage collection made long does not count. */
export async function medianOfThree(measure: () => number | Promise<number>): Promise<number> {
  const values = [await measure(), await measure(), await measure()].sort((one, other) => one - other);
  return values[1] ?? Number.NaN;
}

/** Milliseconds that this thread computes for it. */
export async function medianComputedMs(work: () => unknown): Promise<number> {
  return medianOfThree(() => {
    const startMs = computedMs();
    work();
    return computedMs() - startMs;
  });
}
