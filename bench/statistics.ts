import Type, { type Static } from 'typebox';

/** Of a set of durations, in milliseconds. */
export const Summary = Type.Object({
  count: Type.Integer(),
  mean: Type.Number(),
  p50: Type.Number(),
  p95: Type.Number(),
  p99: Type.Number(),
  max: Type.Number(),
});
export type Summary = Static<typeof Summary>;

/** Percentiles by nearest rank, so that each is a duration that was seen. Throws on an empty set: nothing was measured. */
export function summarize(durationsMs: readonly number[] | Float64Array): Summary {
  if (durationsMs.length === 0) throw new Error('nothing was measured');
  const sorted = Float64Array.from(durationsMs).sort();
  const rank = (percent: number) => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
  return {
    count: sorted.length,
    mean: sorted.reduce((sum, each) => sum + each, 0) / sorted.length,
    p50: rank(50),
    p95: rank(95),
    p99: rank(99),
    max: rank(100),
  };
}
