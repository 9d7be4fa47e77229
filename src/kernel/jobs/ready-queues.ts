/**
 * Which queues have a job whose time has come: one look for all of them. Each queue's own look changes rows and is planned for
 * that, and a program with fifty queues does nothing else when it is idle.
 */
import type { Database } from '../db/database.ts';

/** The table and the condition are those of pg-boss's `fetch`. */
const READY = `
  with ready as materialized (
    select queue.name from unnest($1::text[]) as queue (name)
    where exists (
      select from jobs.job_common job
      where job.name = queue.name and job.state < 'active' and not job.blocked and job.start_after <= jobs.job_now()
    )
  )
  select name, null as next_in_ms from ready
  union all
  select null, 1000 * extract(epoch from min(job.start_after) - jobs.job_now())::float8
  from jobs.job_common job
  where not exists (select from ready) and job.name = any ($1) and job.state < 'active' and not job.blocked`;

export interface ReadyQueues {
  readonly names: readonly string[];
  /** Milliseconds until the time of the next job has come; undefined: none waits, or some queue is ready. */
  readonly nextInMs: number | undefined;
}

export async function findReadyQueues(db: Database, names: readonly string[]): Promise<ReadyQueues> {
  const { rows } = await db.query<{ name: string | null; next_in_ms: number | null }>({ text: READY, values: [names] });
  return {
    names: rows.flatMap(({ name }) => name ?? []),
    nextInMs: rows.at(-1)?.next_in_ms ?? undefined,
  };
}
