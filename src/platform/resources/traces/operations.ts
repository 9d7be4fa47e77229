import type { Clock } from '../../../kernel/clock/clock.ts';
import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { getRunTrace, getTrace } from './get-trace.ts';
import { ingestTrace } from './ingest-trace.ts';
import { listTraces } from './list-traces.ts';
import { otlpErrors } from './otlp-errors.ts';
import { MAX_OTLP_BYTES, pushOtlp } from './push-otlp.ts';
import {
  OtlpAnswer,
  RunTracePath,
  Trace,
  TraceIngested,
  TraceIngestIn,
  TracePath,
  TraceQuery,
  TraceWithSpans,
} from './schema.ts';

export function traceOperations(deps: { readonly clock: Clock }) {
  return [
    project.read({
      id: 'runs.trace',
      method: 'GET',
      path: '/v1/runs/{rid}/trace',
      posture: 'any',
      scope: 'traces:read',
      summary: 'Get a run’s trace',
      description: 'Of a run in progress: what has happened so far.',
      params: RunTracePath,
      reply: TraceWithSpans,
      handler: getRunTrace,
    }),
    project.read({
      id: 'traces.list',
      method: 'GET',
      path: '/v1/traces',
      posture: 'any',
      scope: 'traces:read',
      summary: 'List traces, newest first',
      description:
        'Those of runs and those that were pushed. A smith token sees its own smith’s; what is no smith’s takes a ' +
        'tenant-admin token.',
      query: TraceQuery,
      reply: pageOf(Trace),
      errors: ['invalid_cursor', 'invalid_limit', 'smith_mismatch'],
      handler: listTraces,
    }),
    project.read({
      id: 'traces.get',
      method: 'GET',
      path: '/v1/traces/{tid}',
      posture: 'any',
      scope: 'traces:read',
      summary: 'Get a trace with its spans',
      params: TracePath,
      reply: TraceWithSpans,
      handler: getTrace,
    }),
    project.change({
      id: 'traces.ingest',
      method: 'POST',
      path: '/v1/traces:ingest',
      posture: 'any',
      scope: 'traces:write',
      summary: 'Push spans of your own',
      description:
        'Spans of one trace, in any order and in any number of requests. A span that the trace has already changes ' +
        'nothing, so that a request may be repeated. Early access. OpenTelemetry exporters push to `/v1/otlp/v1/traces`.',
      status: 201,
      // The spans joined a trace.
      alsoStatus: [200],
      body: TraceIngestIn,
      example: {
        trace_id: 'checkout-7f3a',
        app_id: 'shop',
        spans: [
          {
            span_id: 'a1',
            name: 'invoke_agent checkout',
            started_at: '2026-05-01T12:00:00.000Z',
            ended_at: '2026-05-01T12:00:02.500Z',
            attributes: { 'gen_ai.operation.name': 'invoke_agent' },
          },
          {
            span_id: 'a2',
            parent_span_id: 'a1',
            name: 'chat gpt-5',
            started_at: '2026-05-01T12:00:00.120Z',
            ended_at: '2026-05-01T12:00:01.900Z',
            attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5' },
            usage: { input_tokens: 412, output_tokens: 57, cost: 0.0011 },
          },
        ],
      },
      reply: TraceIngested,
      errors: ['smith_mismatch', 'not_found'],
      handler: ingestTrace(deps),
    }),
    project.raw({
      id: 'traces.otlp.push',
      method: 'POST',
      path: '/v1/otlp/v1/traces',
      posture: 'any',
      scope: 'traces:write',
      summary: 'Push spans with an OpenTelemetry exporter',
      description:
        'OTLP/HTTP, in protobuf or JSON, compressed with gzip or not: an `ExportTraceServiceRequest`. Point an exporter’s ' +
        '`OTEL_EXPORTER_OTLP_ENDPOINT` at `/v1/otlp`, with the token in the header `Authorization`. `ironcraft.smith_id` ' +
        'and `ironcraft.app_id`, attributes of a span or its resource, say whose they are; without the latter the app is ' +
        '`service.name`. Spans that are refused are counted in `partialSuccess`, with the reason.',
      maxBodyBytes: MAX_OTLP_BYTES,
      answers: ['protobuf'],
      errorDialect: otlpErrors,
      reply: OtlpAnswer,
      errors: ['payload_too_large'],
      handler: pushOtlp(deps),
    }),
  ];
}
