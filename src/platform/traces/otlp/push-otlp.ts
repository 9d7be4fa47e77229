/** Stores the spans of an OTLP request: in several transactions, so that none is long. */
import type { TenantDatabase } from '../../store/tenant-db.ts';
import type { PushedTrace } from '../ingest/pushed-span.ts';
import { storeSpans } from '../ingest/store-spans.ts';
import { collectTraces } from './collect-traces.ts';
import { decodeJson } from './decode-json.ts';
import { decodeProtobuf } from './decode-protobuf.ts';

/** Of one transaction. */
const SPANS_AT_ONCE = 1_000;

export interface OtlpPush {
  readonly db: TenantDatabase;
  /** As of `storeSpans`. */
  readonly pusher: string;
  readonly now: Date;
  /** The smiths among these that spans may be pushed for. */
  readonly findSmiths: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
}

export interface OtlpOutcome {
  readonly rejectedSpans: number;
  /** Why; '' where none is rejected. */
  readonly message: string;
}

/** Of a body in protobuf, or parsed from JSON. Throws OtlpDecodeError. */
export async function pushOtlp(push: OtlpPush, body: Uint8Array | { readonly json: unknown }): Promise<OtlpOutcome> {
  const decoded = body instanceof Uint8Array ? decodeProtobuf(await openReader(body)) : decodeJson(body.json);
  const { traces, refusals } = await collectTraces(decoded, push.now);
  const named = [...new Set(traces.flatMap(({ smithId }) => (smithId === null ? [] : [smithId])))];
  const smiths = await push.findSmiths(named);
  const allowed: PushedTrace[] = [];
  for (const trace of traces) {
    if (trace.smithId === null && push.pusher !== '') allowed.push({ ...trace, smithId: push.pusher });
    else if (trace.smithId === null || smiths.has(trace.smithId)) allowed.push(trace);
    else refusals.add(trace.spans.length, 'There is no such smith as `ironcraft.smith_id` names.');
  }
  for (const batch of batches(allowed)) {
    const outcomes = await push.db.transaction((tx) => storeSpans(tx, push.pusher, batch));
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.kind === 'refused') refusals.add(batch[index]?.spans.length ?? 0, outcome.refusal.message);
    }
  }
  return { rejectedSpans: refusals.rejected, message: refusals.message };
}

/** Loaded with the first request: many servers get none. */
async function openReader(bytes: Uint8Array) {
  const { default: protobuf } = await import('protobufjs/minimal.js');
  return protobuf.Reader.create(bytes);
}

/** Each trace once in a batch. */
function* batches(traces: readonly PushedTrace[]): Generator<PushedTrace[]> {
  let batch: PushedTrace[] = [];
  let count = 0;
  for (const trace of traces) {
    for (let from = 0; from < trace.spans.length; from += SPANS_AT_ONCE) {
      const spans = trace.spans.slice(from, from + SPANS_AT_ONCE);
      if (count + spans.length > SPANS_AT_ONCE) {
        yield batch;
        [batch, count] = [[], 0];
      }
      batch.push({ ...trace, spans });
      count += spans.length;
    }
  }
  if (batch.length > 0) yield batch;
}
