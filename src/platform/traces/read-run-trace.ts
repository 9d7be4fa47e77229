/** Reads what a run's trace is made of, in one statement. */
import type { TenantDb } from '../store/tenant-db.ts';
import { buildRunTrace, type StoredRun } from './run-trace.ts';
import type { TraceWithSpans } from './trace.ts';

/** Undefined where there is no such run; with a smith, it must be that smith's. */
export async function findRunTrace(
  db: TenantDb,
  runId: string,
  smithId: string | undefined,
): Promise<TraceWithSpans | undefined> {
  const { rows } = await db.raw<StoredRun>({ ...statement, values: [runId, smithId ?? null] });
  return rows[0] === undefined ? undefined : buildRunTrace(rows[0]);
}

/** Inputs and outputs of steps, which may be large, are left where they are. */
const statement = {
  text: `
    select r.id, r.project_id, r.smith_id, r.app_id, r.thread_id, r.agent_id, r.agent_version, r.status, r.channel, r.config,
      r.stop_reason, r.error, r.attempt, r.input_tokens, r.output_tokens, r.cost_micros, r.created_at, r.updated_at,
      coalesce((
        select jsonb_agg(jsonb_build_object('position', s.position, 'kind', s.kind, 'status', s.status, 'name', s.name,
          'call_id', s.call_id, 'error', s.error, 'input_tokens', s.input_tokens, 'output_tokens', s.output_tokens,
          'cached_input_tokens', s.cached_input_tokens, 'reasoning_tokens', s.reasoning_tokens,
          'cost_micros', s.cost_micros, 'started_at', s.started_at, 'finished_at', s.finished_at,
          'finish_reason', case when s.kind <> 'tool' then s.output ->> 'finish_reason' end,
          'results', case when s.kind = 'tool' and s.name = 'file_search' and jsonb_typeof(s.output -> 'results') = 'array'
            then jsonb_array_length(s.output -> 'results') end) order by s.position)
        from run_steps s where s.project_id = $1 and s.run_id = r.id
      ), '[]'::jsonb) as steps,
      coalesce((
        select jsonb_agg(jsonb_build_object('id', a.id, 'tool_call_id', a.tool_call_id, 'tool', a.tool,
          'status', a.status, 'created_at', a.created_at, 'resolved_at', a.resolved_at) order by a.id)
        from approvals a where a.project_id = $1 and a.run_id = r.id
      ), '[]'::jsonb) as approvals
    from runs r
    where r.project_id = $1 and r.id = $2 and ($3::text is null or r.smith_id = $3)`,
};
