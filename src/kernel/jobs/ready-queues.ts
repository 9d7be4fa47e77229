/**
 * Which queues have a job whose time has come: one look for all of them. Each queue's own look changes rows and is planned for
 * that, and a program with fifty queues does nothing else when it is idle.
 */
import type { Database } from '../db/database.ts';

/** The table and the condition are those of pg-boss's `fetch`. */
const READY = `
  select queue.name from unnest($1::text[]) as queue (name)
  where exists (
    select from jobs.job_common job
    where job.name = queue.name and job.state < 'active' and not job.blocked and job.start_after <= jobs.job_now()
  )`;

export async function findReadyQueues(db: Database, names: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>({ text: READY, values: [names] });
  return rows.map(({ name }) => name);
}
