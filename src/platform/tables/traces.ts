/** Traces that were pushed from outside, and their spans. */
import type { Generated } from 'kysely';
import type { Json, JsonDefault, JsonObject, ProjectId, TableNames } from './columns.ts';

interface ExternalTracesTable {
  project_id: ProjectId;
  id: string;
  pushed_by: string;
  external_id: string;
  smith_id: string | null;
  app_id: string | null;
  name: string;
  status: 'completed' | 'failed';
  started_at: Date;
  ended_at: Date;
  span_count: Generated<number>;
  span_bytes: Generated<number>;
  input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  cost_micros: number | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface ExternalSpansTable {
  project_id: ProjectId;
  trace_id: string;
  span_id: string;
  parent_span_id: string | null;
  name: string;
  kind: 'turn' | 'model' | 'tool' | 'retrieval' | 'memory' | 'approval' | 'other';
  error: Json<{ type: string; message: string }> | null;
  started_at: Date;
  ended_at: Date;
  attributes: JsonDefault<JsonObject>;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_micros: number | null;
}

export interface TracesTables {
  external_traces: ExternalTracesTable;
  external_spans: ExternalSpansTable;
}

export const tracesTables: TableNames<TracesTables> = { external_traces: true, external_spans: true };
