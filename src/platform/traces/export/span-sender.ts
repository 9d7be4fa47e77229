/** Sends the spans of runs to a collector, with OpenTelemetry's own exporter: OTLP/HTTP in protobuf, with its retries. */
import type { HrTime, SpanContext } from '@opentelemetry/api';
import type { OTLPTraceExporter as Exporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { Span, TraceWithSpans } from '../trace.ts';

type ReadableSpan = Parameters<Exporter['export']>[0][number];

export interface CollectorAddress {
  /** As an exporter's `OTEL_EXPORTER_OTLP_ENDPOINT`: `/v1/traces` follows, unless it ends with that. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface SpanSender {
  /** Rejects when the collector does not take them within the exporter's ten seconds. */
  send(traces: readonly TraceWithSpans[]): Promise<void>;
  close(): Promise<void>;
}

const SERVICE = { 'service.name': 'ironcraft' };
const SCOPE = { name: 'ironcraft' };
/** W3C's flag of a trace that is recorded. */
const SAMPLED = 1;
const SUCCESS = 0;

/** The packages are loaded now: most servers send nothing. */
export async function openSpanSender({ url, headers }: CollectorAddress): Promise<SpanSender> {
  const [{ OTLPTraceExporter }, { resourceFromAttributes }, { SpanKind, SpanStatusCode }] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/api'),
  ]);
  const exporter = new OTLPTraceExporter({ url: tracesUrl(url), headers: { ...headers } });
  const resource = resourceFromAttributes(SERVICE);

  function toReadable({ externalId: traceId }: TraceWithSpans, span: Span): ReadableSpan {
    const { error, parentSpanId, startedAt, endedAt } = span;
    const startTime = hrTime(startedAt.getTime());
    return {
      name: span.name,
      kind: span.kind === 'model' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      spanContext: () => contextOf(traceId, span.spanId),
      ...(parentSpanId === null ? {} : { parentSpanContext: contextOf(traceId, parentSpanId) }),
      startTime,
      endTime: hrTime((endedAt ?? startedAt).getTime()),
      duration: hrTime(span.durationMs ?? 0),
      status: error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error.message },
      attributes: span.attributes as ReadableSpan['attributes'],
      links: [],
      events: [],
      ended: true,
      resource,
      instrumentationScope: SCOPE,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }

  return {
    send(traces) {
      const spans = traces.flatMap((trace) => trace.spans.map((span) => toReadable(trace, span)));
      return new Promise((resolve, reject) => {
        exporter.export(spans, ({ code, error }) => {
          if (code === SUCCESS) resolve();
          else reject(error ?? new Error('the collector did not take the spans'));
        });
      });
    },
    close: () => exporter.shutdown(),
  };
}

function tracesUrl(url: string): string {
  return url.endsWith('/v1/traces') ? url : `${url}/v1/traces`;
}

function contextOf(traceId: string, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: SAMPLED };
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];
}
