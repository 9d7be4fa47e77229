/**
 * Stores pushed spans. The rows of the traces are locked first, in the order of their names, so that requests which push the
 * same spans at once wait for each other and count each span once:
 *
 *   make rows of new traces ─▶ lock all ─▶ which spans are new ─▶ check the tree ─▶ store spans ─▶ add them up
 */

import { createHash } from 'node:crypto';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { recordTenantUsage } from '../../usage/index.ts';
import { CACHED_TOKENS, modelOf, REASONING_TOKENS } from '../conventions.ts';
import type { SpanUsage } from '../trace.ts';
import { runOfTraceId } from '../w3c-trace-id.ts';
import { MAX_SPANS_PER_TRACE, MAX_TRACE_BYTES, MAX_TREE_DEPTH } from './limits.ts';
import { bytesOf, type PushedSpan, type PushedTrace } from './pushed-span.ts';
import { findTreeProblem } from './span-tree.ts';

/** Whose names external ids are: '' for the project's tokens, else the smith whose token pushes. */
export type Pusher = string;

export interface StoredSpans {
  readonly kind: 'stored';
  readonly id: string;
  readonly externalId: string;
  readonly isNew: boolean;
  readonly accepted: number;
  /** Spans that the trace had before, or that came twice. */
  readonly repeated: number;
  readonly spanCount: number;
}

export interface RefusedSpans {
  readonly kind: 'refused';
  readonly externalId: string;
  readonly refusal: ApiError;
}

interface LockedTrace {
  readonly id: string;
  readonly external_id: string;
  readonly smith_id: string | null;
  readonly app_id: string | null;
  readonly span_count: number;
  readonly span_bytes: number;
}

/** One outcome a trace, in their order. The spans must have passed `findSpanProblem`. Traces have different names. */
export async function storeSpans(
  tx: TenantTransaction,
  pusher: Pusher,
  traces: readonly PushedTrace[],
): Promise<(StoredSpans | RefusedSpans)[]> {
  const ofRuns = await findRunsOf(tx, pusher, traces);
  const pushed = traces.filter(({ externalId }) => !ofRuns.has(externalId));
  const locked = await lockTraces(tx, pusher, pushed);
  const planned: PlannedTrace[] = [];
  const outcomes: (StoredSpans | RefusedSpans)[] = [];
  const empty: string[] = [];
  for (const trace of traces) {
    const { externalId } = trace;
    const row = locked.get(externalId);
    if (row === undefined) {
      outcomes.push({ kind: 'refused', externalId, refusal: refuse('The trace of a run takes no further spans.') });
      continue;
    }
    const plan = await planTrace(tx, row, trace);
    if (plan instanceof ApiError) {
      outcomes.push({ kind: 'refused', externalId, refusal: plan });
      if (row.span_count === 0) empty.push(row.id);
    } else {
      planned.push(plan);
      outcomes.push({
        kind: 'stored',
        id: row.id,
        externalId: row.external_id,
        isNew: row.span_count === 0,
        accepted: plan.fresh.length,
        repeated: trace.spans.length - plan.fresh.length,
        spanCount: row.span_count + plan.fresh.length,
      });
    }
  }
  if (empty.length > 0) {
    await tx.raw({
      text: 'delete from external_traces where project_id = $1 and id = any($2::text[])',
      values: [empty],
    });
  }
  const changed = planned.filter(({ fresh }) => fresh.length > 0);
  if (changed.length > 0) {
    await insertSpans(tx, changed);
    await addUp(tx, changed);
    await countUsage(tx, pusher, changed);
  }
  return outcomes;
}

/** Names that are the W3C trace ids of runs that the pusher sees. */
async function findRunsOf(tx: TenantTransaction, pusher: Pusher, traces: readonly PushedTrace[]): Promise<Set<string>> {
  const runs = new Map(traces.map(({ externalId }) => [runOfTraceId(externalId) ?? '', externalId]));
  runs.delete('');
  if (runs.size === 0) return new Set();
  const { rows } = await tx.raw<{ id: string }>({
    text: `select id from runs where project_id = $1 and id = any($2::text[]) and ($3 = '' or smith_id = $3)`,
    values: [[...runs.keys()], pusher],
  });
  return new Set(rows.map(({ id }) => runs.get(id) ?? ''));
}

/** By the name that they are pushed under. */
async function lockTraces(
  tx: TenantTransaction,
  pusher: Pusher,
  traces: readonly PushedTrace[],
): Promise<Map<string, LockedTrace>> {
  const fresh = traces
    .filter(({ id }) => id === undefined)
    .map((trace) => ({ id: mintId('trc'), ...describeNew(trace) }));
  if (fresh.length > 0) {
    await tx.raw({
      text: `
        insert into external_traces (project_id, pushed_by, id, external_id, smith_id, app_id, name, status, started_at, ended_at)
        select $1, $3, t.id, t.external_id, t.smith_id, t.app_id, '', 'completed', ${moment('t.started_us')}, ${moment('t.ended_us')}
        from jsonb_to_recordset($2::jsonb) as t (id text, external_id text, smith_id text, app_id text, started_us bigint, ended_us bigint)
        order by t.external_id
        on conflict (project_id, pushed_by, external_id) do nothing`,
      values: [json(fresh), pusher],
    });
  }
  const known = new Map(traces.flatMap(({ id, externalId }) => (id === undefined ? [] : [[id, externalId] as const])));
  const { rows } = await tx.raw<LockedTrace>({
    text: `
      select id, external_id, smith_id, app_id, span_count, span_bytes from external_traces
      where project_id = $1 and (pushed_by = $2 and external_id = any($3::text[]) or id = any($4::text[]))
      order by external_id, id for update`,
    values: [pusher, fresh.map(({ external_id: name }) => name), [...known.keys()]],
  });
  return new Map(rows.map((row) => [known.get(row.id) ?? row.external_id, row]));
}

function describeNew({ externalId, smithId, appId, spans }: PushedTrace) {
  return { external_id: externalId, smith_id: smithId, app_id: appId, ...extent(spans) };
}

function extent(spans: readonly PushedSpan[]) {
  return {
    started_us: spans.reduce((first, { startedUs }) => Math.min(first, startedUs), Number.POSITIVE_INFINITY),
    ended_us: spans.reduce((last, { endedUs }) => Math.max(last, endedUs), 0),
  };
}

interface PlannedTrace {
  readonly row: LockedTrace;
  readonly trace: PushedTrace;
  readonly fresh: readonly PushedSpan[];
  readonly bytes: number;
  readonly top: TopSpans;
}

/** Which spans are new, or why they are refused, all of them. */
async function planTrace(
  tx: TenantTransaction,
  row: LockedTrace,
  trace: PushedTrace,
): Promise<PlannedTrace | ApiError> {
  if (row.smith_id !== null && trace.smithId !== null && row.smith_id !== trace.smithId) {
    return refuse('The trace is another smith’s. Push these spans under another `trace_id`.', 'smith_id');
  }
  const placed = await readPlacedSpans(tx, row);
  const fresh: PushedSpan[] = [];
  for (const span of trace.spans) {
    const { spanId, parentSpanId, startedUs, error } = span;
    if (placed.has(spanId)) continue;
    placed.set(spanId, { parent_span_id: parentSpanId, started_us: startedUs, failed: error !== null });
    fresh.push(span);
  }
  const parents = new Map([...placed].map(([spanId, { parent_span_id: parent }]) => [spanId, parent]));
  if (parents.size > MAX_SPANS_PER_TRACE) {
    return refuse(`A trace has at most ${MAX_SPANS_PER_TRACE} spans; this one would have ${parents.size}.`, 'spans');
  }
  const bytes = fresh.reduce((sum, span) => sum + bytesOf(span), 0);
  if (row.span_bytes + bytes > MAX_TRACE_BYTES) {
    return refuse(`Names and attributes of a trace’s spans have at most ${MAX_TRACE_BYTES} bytes together.`, 'spans');
  }
  const problem = findTreeProblem(parents);
  if (problem?.kind === 'cycle') {
    return refuse(`The span ${problem.spanId} would be among its own parents: the spans make a cycle.`, 'spans');
  }
  if (problem?.kind === 'depth') {
    return refuse(`The span ${problem.spanId} is more than ${MAX_TREE_DEPTH} levels down.`, 'spans');
  }
  return { row, trace, fresh, bytes, top: findTop(placed) };
}

/** What is asked of a span to place it in its tree. */
interface PlacedSpan {
  readonly parent_span_id: string | null;
  readonly started_us: number;
  readonly failed: boolean;
}

async function readPlacedSpans(tx: TenantTransaction, row: LockedTrace): Promise<Map<string, PlacedSpan>> {
  if (row.span_count === 0) return new Map();
  const { rows } = await tx.raw<PlacedSpan & { span_id: string }>({
    text: `
      select span_id, parent_span_id, (extract(epoch from started_at) * 1000000)::bigint as started_us, error is not null as failed
      from external_spans where project_id = $1 and trace_id = $2`,
    values: [row.id],
  });
  return new Map(rows.map((span) => [span.span_id, span]));
}

interface TopSpans {
  /** The one that began first. */
  readonly top_span_id: string;
  readonly status: 'completed' | 'failed';
}

/** What the topmost spans say of their trace: those whose parent is not in it. */
function findTop(placed: ReadonlyMap<string, PlacedSpan>): TopSpans {
  let first: readonly [spanId: string, startedUs: number] | undefined;
  let status: TopSpans['status'] = 'completed';
  for (const [spanId, { parent_span_id: parent, started_us: startedUs, failed }] of placed) {
    if (parent !== null && placed.has(parent)) continue;
    if (failed) status = 'failed';
    if (first === undefined || startedUs < first[1] || (startedUs === first[1] && spanId < first[0])) {
      first = [spanId, startedUs];
    }
  }
  return { top_span_id: first?.[0] ?? '', status };
}

async function insertSpans(tx: TenantTransaction, planned: readonly PlannedTrace[]): Promise<void> {
  const rows = planned.flatMap(({ row, fresh }) =>
    fresh.map((span) => ({
      trace_id: row.id,
      span_id: span.spanId,
      parent_span_id: span.parentSpanId,
      name: span.name,
      kind: span.kind,
      error: span.error,
      started_us: span.startedUs,
      ended_us: span.endedUs,
      attributes: span.attributes,
      ...(span.usage ?? {}),
    })),
  );
  await tx.raw({
    text: `
      insert into external_spans (project_id, trace_id, span_id, parent_span_id, name, kind, error, started_at, ended_at,
                                  attributes, input_tokens, output_tokens, cost_micros)
      select $1, s.trace_id, s.span_id, s.parent_span_id, s.name, s.kind, nullif(s.error, 'null'), ${moment('s.started_us')},
             ${moment('s.ended_us')}, s.attributes, s.input_tokens, s.output_tokens, s.cost_micros
      from jsonb_to_recordset($2::jsonb) as s (
        trace_id text, span_id text, parent_span_id text, name text, kind text, error jsonb, started_us bigint, ended_us bigint,
        attributes jsonb, input_tokens bigint, output_tokens bigint, cost_micros bigint)`,
    values: [json(rows)],
  });
}

/** Totals, times, and what the topmost spans say. */
async function addUp(tx: TenantTransaction, planned: readonly PlannedTrace[]): Promise<void> {
  const added = planned.map(({ row, trace, fresh, bytes, top }) => ({
    id: row.id,
    smith_id: trace.smithId,
    app_id: trace.appId,
    spans: fresh.length,
    bytes,
    ...extent(fresh),
    ...sumUsage(fresh),
    ...top,
  }));
  await tx.raw({
    text: `
      update external_traces t set
        smith_id = coalesce(t.smith_id, a.smith_id),
        app_id = coalesce(t.app_id, a.app_id),
        name = top.name,
        status = a.status,
        started_at = least(t.started_at, ${moment('a.started_us')}),
        ended_at = greatest(t.ended_at, ${moment('a.ended_us')}),
        span_count = t.span_count + a.spans,
        span_bytes = t.span_bytes + a.bytes,
        input_tokens = t.input_tokens + a.input_tokens,
        output_tokens = t.output_tokens + a.output_tokens,
        cost_micros = case when a.cost_micros is null then t.cost_micros else coalesce(t.cost_micros, 0) + a.cost_micros end,
        updated_at = now()
      from jsonb_to_recordset($2::jsonb) as a (
        id text, smith_id text, app_id text, spans int, bytes int, started_us bigint, ended_us bigint,
        input_tokens bigint, output_tokens bigint, cost_micros bigint, top_span_id text, status text)
      join external_spans top on top.project_id = $1 and top.trace_id = a.id and top.span_id = a.top_span_id
      where t.project_id = $1 and t.id = a.id`,
    values: [json(added)],
  });
}

/**
 * In the project's usage, as source `external`. An entry's id follows from the span's, so that a span which is pushed again
 * after its trace has been removed is not counted again.
 */
async function countUsage(tx: TenantTransaction, pusher: Pusher, planned: readonly PlannedTrace[]): Promise<void> {
  const entries = planned.flatMap(({ row, trace, fresh }) =>
    fresh.flatMap(({ spanId, startedUs, attributes, usage }) =>
      usage === null
        ? []
        : [
            {
              id: `span_${createHash('sha256')
                .update(json([pusher, row.external_id, spanId]))
                .digest('hex')
                .slice(0, 40)}`,
              source: 'external' as const,
              model: modelOf(attributes),
              smithId: row.smith_id ?? trace.smithId,
              appId: row.app_id ?? trace.appId,
              at: new Date(startedUs / 1_000),
              calls: 1,
              inputTokens: usage.input_tokens,
              ...readDetails(attributes, usage),
              outputTokens: usage.output_tokens,
              costMicros: usage.cost_micros,
            },
          ],
    ),
  );
  if (entries.length > 0) await recordTenantUsage(tx, entries);
}

/** Of the tokens, those that were cached, and those of reasoning. */
function readDetails(attributes: PushedSpan['attributes'], usage: SpanUsage) {
  const [cached, reasoning] = [attributes[CACHED_TOKENS], attributes[REASONING_TOKENS]];
  return {
    cachedInputTokens: isPart(cached, usage.input_tokens) ? cached : 0,
    reasoningTokens: isPart(reasoning, usage.output_tokens) ? reasoning : 0,
  };
}

function isPart(value: unknown, whole: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= whole;
}

function sumUsage(spans: readonly PushedSpan[]): SpanUsage {
  let [input_tokens, output_tokens, cost_micros]: [number, number, number | null] = [0, 0, null];
  for (const { usage } of spans) {
    if (usage === null) continue;
    input_tokens += usage.input_tokens;
    output_tokens += usage.output_tokens;
    if (usage.cost_micros !== null) cost_micros = (cost_micros ?? 0) + usage.cost_micros;
  }
  return { input_tokens, output_tokens, cost_micros };
}

/** SQL for a column of microseconds since 1970. */
function moment(column: string): string {
  return `timestamptz 'epoch' + ${column} * interval '1 microsecond'`;
}

function refuse(message: string, param = 'trace_id'): ApiError {
  return new ApiError('invalid_request', { param, message });
}
