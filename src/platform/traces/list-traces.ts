/**
 * A page of traces, newest first: those of runs and those that were pushed, in one order. A run and its trace share the
 * id's suffix, so both sides are read by their ids, each with its own index, and merged.
 */
import type { PageRequest } from '../../kernel/http/paging.ts';
import { idAt, withPrefix } from '../../kernel/ids/ids.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import { describeExternalTrace, EXTERNAL_TRACE_COLUMNS, type ExternalTraceRow } from './external-trace.ts';
import { describeRunTrace, type TracedRun } from './run-trace.ts';
import type { Trace, TraceStatus } from './trace.ts';
import { runOfTraceId } from './w3c-trace-id.ts';

export interface TraceFilter {
  readonly smithId?: string | undefined;
  readonly appId?: string | undefined;
  readonly runId?: string | undefined;
  readonly externalId?: string | undefined;
  readonly status?: TraceStatus | undefined;
  readonly since?: Date | undefined;
}

/** Up to one trace more than the page holds. */
export async function listTraces(db: TenantDb, filter: TraceFilter, page: PageRequest): Promise<Trace[]> {
  const [runs, external] = await Promise.all([listRunTraces(db, filter, page), listExternalTraces(db, filter, page)]);
  return [...runs, ...external].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, page.limit + 1);
}

/** How much older an id may be than its row: the id is the server's time, the row has the store's. */
const ID_LEAD_MS = 60_000;

async function listRunTraces(db: TenantDb, filter: TraceFilter, page: PageRequest): Promise<Trace[]> {
  const { appId, externalId, runId, since, smithId, status } = filter;
  const runIds = [runId, externalId === undefined ? undefined : runOfTraceId(externalId)];
  // An id that is none names no run.
  if (externalId !== undefined && runIds[1] === undefined) return [];
  const where = new Conditions(page.limit + 1);
  for (const id of runIds) if (id !== undefined) where.add('id = ?', id);
  if (smithId !== undefined) where.add('smith_id = ?', smithId);
  if (appId !== undefined) where.add('app_id = ?', appId);
  if (status !== undefined) where.add('status = ?', status);
  if (since !== undefined) {
    where.add('id >= ?', idAt('run', new Date(since.getTime() - ID_LEAD_MS)));
    where.add('created_at >= ?', since);
  }
  if (page.after !== undefined) where.add('id < ?', withPrefix('run', page.after));
  const { rows } = await db.raw<TracedRun>({
    text: `
      select r.*, 1
        + (select count(*) from run_steps s where s.project_id = $1 and s.run_id = r.id)
        + (select count(*) from approvals a where a.project_id = $1 and a.run_id = r.id) as span_count
      from (
        select id, smith_id, app_id, status, input_tokens, output_tokens, cost_micros, created_at, updated_at
        from runs where project_id = $1${where.text} order by id desc limit $2
      ) r
      order by r.id desc`,
    values: where.values,
  });
  return rows.map(describeRunTrace);
}

async function listExternalTraces(db: TenantDb, filter: TraceFilter, page: PageRequest): Promise<Trace[]> {
  const { appId, externalId, runId, since, smithId, status } = filter;
  if (runId !== undefined) return [];
  const where = new Conditions(page.limit + 1);
  if (smithId !== undefined) where.add('smith_id = ?', smithId);
  if (appId !== undefined) where.add('app_id = ?', appId);
  if (externalId !== undefined) where.add('external_id = ?', externalId);
  if (status !== undefined) where.add('status = ?', status);
  if (since !== undefined) {
    where.add('id >= ?', idAt('trc', new Date(since.getTime() - ID_LEAD_MS)));
    where.add('created_at >= ?', since);
  }
  if (page.after !== undefined) where.add('id < ?', page.after);
  const { rows } = await db.raw<ExternalTraceRow>({
    text: `
      select ${EXTERNAL_TRACE_COLUMNS} from external_traces
      where project_id = $1${where.text} order by id desc limit $2`,
    values: where.values,
  });
  return rows.map(describeExternalTrace);
}

/** What is added to `where project_id = $1`; `$2` is the first value given. */
class Conditions {
  text = '';
  readonly values: unknown[];

  constructor(limit: number) {
    this.values = [limit];
  }

  /** `?` stands for the value. */
  add(condition: string, value: unknown): void {
    this.values.push(value);
    this.text += ` and ${condition.replace('?', `$${this.values.length + 1}`)}`;
  }
}
