/** The job queue as rows, whose jobs run when a test asks for it: one is taken, run and removed, so one that a crash cuts off runs again elsewhere. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/kernel/db/database.ts';
import type { JobHandler } from '../../src/kernel/jobs/job.ts';
import type { Jobs } from '../../src/kernel/jobs/jobs.ts';

export interface SteppedJobs extends Jobs {
  /** Runs what is enqueued, oldest first, until nothing is. Rejects as a job does, which stays then. */
  runQueued(): Promise<void>;
  /** Runs a job that has a schedule, as at its time. */
  runScheduled(name: string): Promise<void>;
}

interface QueuedJob {
  readonly id: string;
  readonly name: string;
  readonly data: object;
}

/** Once in each database, before the first job. */
export async function createJobTable(db: Database): Promise<void> {
  await db.query({
    text: `create table if not exists public.simulated_jobs (
      place bigint generated always as identity, id text primary key, name text not null, data jsonb not null,
      singleton_key text, unique nulls distinct (name, singleton_key))`,
  });
}

export function createSteppedJobs(db: Database): SteppedJobs {
  const handlers = new Map<string, JobHandler<object>>();
  const run = async (name: string, id: string, data: object): Promise<void> => {
    const handler = handlers.get(name);
    if (handler === undefined) throw new Error(`no job has the name ${name}`);
    const { signal } = new AbortController();
    await handler({ id, data, attempt: 1, abruptEnds: 0, keepProgress: async () => undefined, signal });
  };
  return {
    define: (name, handler) => void handlers.set(name, handler as JobHandler<object>),
    schedule: () => undefined,
    async enqueue(executor, name, data, { singletonKey } = {}) {
      const { rows } = await executor.query<{ id: string }>({
        text: `insert into public.simulated_jobs (id, name, data, singleton_key) values ($1, $2, $3::jsonb, $4)
          on conflict do nothing returning id`,
        values: [randomUUID(), name, JSON.stringify(data), singletonKey ?? null],
      });
      return rows[0]?.id;
    },
    start: async () => undefined,
    stop: async () => undefined,
    async runQueued() {
      for (;;) {
        const { rows } = await db.query<QueuedJob>({
          text: 'select id, name, data from public.simulated_jobs order by place limit 1',
          values: [],
        });
        const [next] = rows;
        if (next === undefined) return;
        await run(next.name, next.id, next.data);
        await db.query({ text: 'delete from public.simulated_jobs where id = $1', values: [next.id] });
      }
    },
    runScheduled: (name) => run(name, 'scheduled', {}),
  };
}
