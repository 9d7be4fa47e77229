/** Traces that were pushed, as they are stored and read. */
import type { TenantDb } from '../store/tenant-db.ts';
import type { JsonObject } from '../tables.ts';
import type { Span, SpanError, SpanKind, SpanUsage, Trace, TraceWithSpans } from './trace.ts';

export interface ExternalTraceRow extends SpanUsage {
  readonly id: string;
  readonly external_id: string;
  readonly smith_id: string | null;
  readonly app_id: string | null;
  readonly name: string;
  readonly status: 'completed' | 'failed';
  readonly started_at: Date;
  readonly ended_at: Date;
  readonly span_count: number;
  readonly created_at: Date;
}

export const EXTERNAL_TRACE_COLUMNS =
  'id, external_id, smith_id, app_id, name, status, started_at, ended_at, span_count, input_tokens, output_tokens, cost_micros, created_at';

export function describeExternalTrace(row: ExternalTraceRow): Trace {
  const { input_tokens, output_tokens, cost_micros } = row;
  return {
    id: row.id,
    runId: null,
    externalId: row.external_id,
    smithId: row.smith_id,
    appId: row.app_id,
    name: row.name,
    status: row.status,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    spanCount: row.span_count,
    totals: { input_tokens, output_tokens, cost_micros },
    createdAt: row.created_at,
  };
}

interface ExternalSpanRow {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  readonly error: SpanError | null;
  readonly started_at: Date;
  readonly ended_at: Date;
  readonly duration_ms: number;
  readonly attributes: JsonObject;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cost_micros: number | null;
}

/** Undefined where there is none; with a smith, it must be that smith's. */
export async function findExternalTrace(
  db: TenantDb,
  id: string,
  smithId: string | undefined,
): Promise<TraceWithSpans | undefined> {
  const { rows } = await db.raw<ExternalTraceRow>({
    text: `
      select ${EXTERNAL_TRACE_COLUMNS} from external_traces
      where project_id = $1 and id = $2 and ($3::text is null or smith_id = $3)`,
    values: [id, smithId ?? null],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const spans = await db.raw<ExternalSpanRow>({
    text: `
      select span_id, parent_span_id, name, kind, error, started_at, ended_at,
        (extract(epoch from ended_at - started_at) * 1000)::float8 as duration_ms,
        attributes, input_tokens, output_tokens, cost_micros
      from external_spans where project_id = $1 and trace_id = $2
      order by started_at, span_id`,
    values: [id],
  });
  return { ...describeExternalTrace(row), spans: spans.rows.map(readSpan) };
}

/** Whether there is such a trace; with a smith, one of that smith's. */
export async function isExternalTrace(db: TenantDb, id: string, smithId: string | undefined): Promise<boolean> {
  const { rows } = await db.raw({
    text: `
      select from external_traces where project_id = $1 and id = $2 and ($3::text is null or smith_id = $3)`,
    values: [id, smithId ?? null],
  });
  return rows.length > 0;
}

function readSpan(row: ExternalSpanRow): Span {
  const { input_tokens, output_tokens, cost_micros } = row;
  const hasUsage = input_tokens !== null || output_tokens !== null || cost_micros !== null;
  return {
    spanId: row.span_id,
    parentSpanId: row.parent_span_id,
    name: row.name,
    kind: row.kind,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    durationMs: row.duration_ms,
    attributes: row.attributes,
    error: row.error,
    usage: hasUsage ? { input_tokens: input_tokens ?? 0, output_tokens: output_tokens ?? 0, cost_micros } : null,
  };
}
