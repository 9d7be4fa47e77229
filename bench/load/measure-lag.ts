export interface Lag {
  /** Of every word of every stream, milliseconds. */
  readonly lags: Float64Array;
  /** Of the words that were due while every stream was open. */
  readonly lagsAllOpen: Float64Array;
  readonly openMs: number;
}

/**
 * How late words came that were promised one each `periodMs`. `arrivals` holds, for each stream, when each word came.
 *
 * A stream is held to its own clock: word k is due k periods after the stream's start, and the start is the latest time
 * that would have no word come early. So a first word that came late excuses none of those that follow, and one stream's
 * start says nothing about another's.
 */
export function measureLag(arrivals: readonly Float64Array[], periodMs: number): Lag {
  const openFrom = Math.max(...arrivals.map((times) => times[0] ?? 0));
  const openTo = Math.min(...arrivals.map((times) => times.at(-1) ?? 0));
  const lags = new Float64Array(arrivals.reduce((sum, times) => sum + times.length, 0));
  const lagsAllOpen = new Float64Array(lags.length);
  let count = 0;
  let countAllOpen = 0;
  for (const times of arrivals) {
    const early = times.map((time, word) => time - word * periodMs);
    const start = early.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY);
    for (const [word, offset] of early.entries()) {
      const due = start + word * periodMs;
      lags[count++] = offset - start;
      if (due >= openFrom && due <= openTo) lagsAllOpen[countAllOpen++] = offset - start;
    }
  }
  return { lags, lagsAllOpen: lagsAllOpen.subarray(0, countAllOpen), openMs: Math.max(0, openTo - openFrom) };
}
