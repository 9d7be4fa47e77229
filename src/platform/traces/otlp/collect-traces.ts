/** The spans of an OTLP request by trace, read in slices of time, and what of them is refused. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { findSpanProblem, type PushedSpan, type PushedTrace } from '../ingest/pushed-span.ts';
import { MAX_OTLP_SPANS, OtlpDecodeError, type OtlpSpan } from './otlp-span.ts';
import { readOtlpSpan } from './read-otlp-span.ts';

export interface CollectedTraces {
  readonly traces: readonly PushedTrace[];
  readonly refusals: Refusals;
}

/** How long other work waits for a slice. */
const SLICE_MS = 10;
/** Reasons that the answer names. */
const MAX_REASONS = 3;

export class Refusals {
  rejected = 0;
  readonly #reasons = new Set<string>();

  add(spans: number, reason: string): void {
    this.rejected += spans;
    if (this.#reasons.size < MAX_REASONS) this.#reasons.add(reason);
  }

  get message(): string {
    return [...this.#reasons].join(' ');
  }
}

/** Throws OtlpDecodeError. */
export async function collectTraces(decoded: Iterable<OtlpSpan | undefined>, now: Date): Promise<CollectedTraces> {
  const traces = new Map<string, { smithId: string | null; appId: string | null; spans: PushedSpan[] }>();
  const refusals = new Refusals();
  let count = 0;
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (const otlp of decoded) {
    if (performance.now() > sliceEndsAt) {
      await nextTurn();
      sliceEndsAt = performance.now() + SLICE_MS;
    }
    if (otlp === undefined) continue;
    count += 1;
    if (count > MAX_OTLP_SPANS) throw new OtlpDecodeError(`The request has more than ${MAX_OTLP_SPANS} spans.`);
    const read = readOtlpSpan(otlp);
    const problem = typeof read === 'string' ? read : findSpanProblem(read.span, now)?.message;
    if (typeof read === 'string' || problem !== undefined) {
      refusals.add(1, problem ?? '');
      continue;
    }
    const { traceId, smithId, appId, span } = read;
    const trace = traces.get(traceId) ?? { smithId, appId, spans: [] };
    trace.smithId ??= smithId;
    trace.appId ??= appId;
    trace.spans.push(span);
    traces.set(traceId, trace);
  }
  return { traces: [...traces].map(([externalId, trace]) => ({ externalId, ...trace })), refusals };
}
