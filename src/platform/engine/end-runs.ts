/**
 * Ends the runs of what has ended itself: all runs of a project that is deleted, and those of an archived smith that wait for an
 * answer nobody can give any more. A job rather than a part of the request: there may be many, and each has a replica to ask.
 */
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { type TenantTransaction, tenantDb } from '../store/tenant-db.ts';
import { cancelTurn } from './commands/cancel-turn.ts';
import type { Engine } from './engine.ts';

const END = 'end-runs';
const SWEEP = 'sweep-ended-runs';
/** Runs that are read at once. */
const BATCH = 100;
/** Projects that were deleted before have been gone through. */
const SWEPT = '2 days';

interface EndedOwner {
  readonly projectId: string;
  /** Null: the project itself has ended. */
  readonly smithId: string | null;
}

/** Defines the jobs and their times. Call before `jobs.start`. */
export function defineRunEnding(jobs: Jobs, engine: Engine): void {
  jobs.define<EndedOwner>(END, ({ data, signal }) => endRuns(engine, data, signal));
  jobs.define(SWEEP, ({ signal }) => sweepEndedRuns(engine, signal), { concurrency: 1 });
  jobs.schedule(SWEEP, '32 * * * *', {});
}

/** In the transaction that deletes the project, or archives the smith. */
export async function enqueueRunEnding(
  jobs: Pick<Jobs, 'enqueue'>,
  tx: TenantTransaction,
  smithId: string | null,
): Promise<void> {
  const owner: EndedOwner = { projectId: tx.projectId, smithId };
  await tx.enqueue(jobs, END, owner);
}

/** Once more those of what ended lately: a run that began in the same moment was not seen then. */
export async function sweepEndedRuns(engine: Engine, signal: AbortSignal): Promise<void> {
  const { rows } = await engine.db.query<{ project_id: string; smith_id: string | null }>({
    text: `
      select p.id as project_id, null as smith_id from projects p where p.archived_at > now() - interval '${SWEPT}'
      union all
      select distinct r.project_id, r.smith_id
      from runs r join smiths s on s.project_id = r.project_id and s.id = r.smith_id and s.archived_at is not null
      where r.status = 'paused'`,
    values: [],
  });
  const failures: unknown[] = [];
  for (const { project_id, smith_id } of rows) {
    await endRuns(engine, { projectId: project_id, smithId: smith_id }, signal).catch((error) => failures.push(error));
  }
  throwFirst(failures);
}

/** Safe to repeat, and to run twice at once. One that cannot be cancelled is in the way of no other: it throws in the end. */
async function endRuns(engine: Engine, owner: EndedOwner, signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted; ) {
    const runs = await listRuns(engine.db, owner, after);
    for (const { id, smith_id } of runs) {
      if (signal.aborted) return;
      const run = { projectId: owner.projectId, smithId: smith_id, runId: id };
      await cancelTurn(engine, run).catch((error) => failures.push(error));
    }
    after = runs.length < BATCH ? undefined : runs.at(-1)?.id;
  }
  throwFirst(failures);
}

/** One says what is wrong; the others fail again at the next try. */
function throwFirst(failures: readonly unknown[]): void {
  if (failures.length > 0) throw failures[0];
}

async function listRuns(db: Database, { projectId, smithId }: EndedOwner, after: string) {
  const { rows } = await tenantDb(db, projectId).raw<{ id: string; smith_id: string }>({
    text: `
      select id, smith_id from runs
      where project_id = $1 and id > $3
        and case when $2::text is null then status in ('in_progress', 'paused') else smith_id = $2 and status = 'paused' end
      order by id limit ${BATCH}`,
    values: [smithId, after],
  });
  return rows;
}
