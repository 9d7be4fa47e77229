/** Milliseconds that this thread has computed so far: how long it waited for a processor is not its doing. */
export function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const TRIES = 20;

/**
 * The least that this thread computed in one of several tries, of which the first below the bound is the last. Compilation,
 * garbage collection and neighbours that share the processor's caches slow some tries down; code that is too slow, all of them.
 */
export function leastComputedMs(boundMs: number, work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && least >= boundMs; tries += 1) {
    const start = computedMs();
    work();
    least = Math.min(least, computedMs() - start);
  }
  return least;
}

/** The median of what this thread computed in three tries, after one that lets the code be compiled: for the soak. */
export function medianComputedMs(work: () => unknown): number {
  work();
  const tries = [0, 1, 2].map(() => {
    const startMs = computedMs();
    work();
    return computedMs() - startMs;
  });
  return tries.sort((one, other) => one - other)[1] ?? Number.NaN;
}
