import type { Executor } from '../../../../kernel/db/database.ts';
import { json } from '../../../../kernel/db/values.ts';
import type { IdempotencyClaim } from '../../../../kernel/http/operation.ts';
import type { RunRow } from '../../../engine/index.ts';
import type { JsonObject } from '../../../tables.ts';

/** Of a smith's newest runs so many are looked through for a call that one of them waits for. */
export const MAX_SEARCHED_RUNS = 1_000;

/** The run behind a response, unless it is another smith's; undefined too for a run that another surface started. */
export async function findRun(
  db: Executor,
  projectId: string,
  runId: string,
  smithId: string | null,
): Promise<RunRow | undefined> {
  const { rows } = await db.query<RunRow>({
    text: `
      select * from runs
      where project_id = $1 and id = $2 and surface = 'response' and ($3::text is null or smith_id = $3)`,
    values: [projectId, runId, smithId],
  });
  return rows[0];
}

/** The smith's newest paused run that waits for an answer to this call; with a thread, the newest in it. */
export async function findPausedByCall(
  db: Executor,
  projectId: string,
  smithId: string,
  call: WaitingCall,
  threadId: string | undefined,
): Promise<RunRow | undefined> {
  const { rows } = await db.query<RunRow>({
    text: `
      select * from runs
      where project_id = $1 and status = 'paused' and surface = 'response'
        and id in (select id from runs where project_id = $1 and smith_id = $2 order by id desc limit ${MAX_SEARCHED_RUNS})
        and output -> 'tool_calls' @> $3::jsonb and ($4::text is null or thread_id = $4)
      order by id desc limit 1`,
    values: [projectId, smithId, json([call]), threadId ?? null],
  });
  return rows[0];
}

/** What is known of it, as a run's output shows it. */
export type WaitingCall =
  | { readonly id: string; readonly name?: string; readonly status: 'requires_result' }
  | { readonly approval_id: string; readonly status: 'requires_approval' };

export interface Pause {
  readonly seq: number;
  readonly data: JsonObject;
  readonly created_at: Date;
}

/** The run's n-th pause, counted from 1. */
export async function findPause(db: Executor, run: RunRow, n: number): Promise<Pause | undefined> {
  const { rows } = await db.query<Pause>({
    text: `
      select seq, data, created_at from run_events
      where project_id = $1 and run_id = $2 and type = 'run.paused' order by seq offset $3 limit 1`,
    values: [run.project_id, run.id, n - 1],
  });
  return rows[0];
}

export async function countPauses(db: Executor, run: RunRow): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    text: `
      select count(*)::int as count from run_events
      where project_id = $1 and run_id = $2 and type = 'run.paused'`,
    values: [run.project_id, run.id],
  });
  return rows[0]?.count ?? 0;
}

/** What the tool's calls gave before the frame, in order. */
export async function listOutputsBefore(
  db: Executor,
  run: RunRow,
  tool: string,
  seq: number,
): Promise<(JsonObject | null)[]> {
  const { rows } = await db.query<{ output: JsonObject | null }>({
    text: `
      select data -> 'output' as output from run_events
      where project_id = $1 and run_id = $2 and type = 'tool.completed' and seq <= $4 and data ->> 'tool' = $3
      order by seq`,
    values: [run.project_id, run.id, tool, seq],
  });
  return rows.map(({ output }) => output);
}

/** From now on the run's responses cannot be retrieved. False: they could not before. */
export async function hideRun(db: Executor, projectId: string, runId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    text: 'update runs set hidden_at = now() where project_id = $1 and id = $2 and hidden_at is null',
    values: [projectId, runId],
  });
  return rowCount > 0;
}

/** The run that the request with this key has started or gone on with. */
export async function findClaimedRun(
  db: Executor,
  projectId: string,
  { operation, key }: IdempotencyClaim,
): Promise<{ fingerprint: string; run_id: string } | undefined> {
  const { rows } = await db.query<{ fingerprint: string; run_id: string }>({
    text: `
      select fingerprint, run_id from idempotency_keys
      where project_id = $1 and operation = $2 and key = $3 and run_id is not null and expires_at > now()`,
    values: [projectId, operation, key],
  });
  return rows[0];
}

/** As the start of a run does it for its own key. */
export async function keepClaim(
  db: Executor,
  projectId: string,
  { operation, key, fingerprint }: IdempotencyClaim,
  runId: string,
): Promise<void> {
  await db.query({
    text: `
      insert into idempotency_keys (project_id, operation, key, fingerprint, run_id, expires_at)
      values ($1, $2, $3, $4, $5, now() + interval '24 hours')
      on conflict (project_id, operation, key) do update
        set fingerprint = excluded.fingerprint, run_id = excluded.run_id, created_at = now(),
            expires_at = excluded.expires_at
        where idempotency_keys.expires_at <= now()`,
    values: [projectId, operation, key, fingerprint, runId],
  });
}
