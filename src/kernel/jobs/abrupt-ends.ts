/**
 * How often a job was under way when its process ended without giving it back: killed, out of memory, or blocked until
 * its heartbeat lapsed. Written only for jobs that this happens to.
 *
 * Such a job is a suspect. Suspects of one process run one at a time (suspect-queue.ts), and `run` says which run of one
 * has begun: a suspect that only waited while another ended the process is not counted again. `outage_run` says which run
 * lapsed because its process lived and could not reach the database: that is not counted.
 */
import type { Executor } from '../db/database.ts';
import type { Claim } from './job.ts';

export interface AbruptEnds {
  /** Since the job last made progress. */
  readonly sinceProgress: number;
  readonly total: number;
  /** The last end was so long ago that the job waits no longer for processes to stop ending. */
  readonly waitIsOver: boolean;
}

export const NO_ABRUPT_ENDS: AbruptEnds = { sinceProgress: 0, total: 0, waitIsOver: true };

/** What pg-boss writes to a job whose heartbeat has lapsed. */
const HEARTBEAT_LAPSED = 'job heartbeat timeout';
/** A suspect does not wait longer than this for processes to stop ending. */
const LONGEST_WAIT = '15 minutes';
/** How long it is put off each time. */
const PUT_OFF = '5 seconds';
/** Longer than pg-boss keeps any job. */
const FORGET_AFTER = '30 days';

/** pg-boss has made the schema. Races with other processes end in a unique violation, after which a second try finds it. */
export async function createAbruptEnds(db: Executor): Promise<void> {
  const { rows } = await db.query<{ found: boolean }>({
    text: `select exists (
             select from pg_attribute where attrelid = to_regclass('jobs.abrupt_end') and attname = 'outage_run'
           ) as found`,
    values: [],
  });
  if (rows[0]?.found !== true) {
    await db.query({
      text: `
        create table if not exists jobs.abrupt_end (
          job_id uuid primary key,
          since_progress int not null,
          total int not null,
          run int,
          counted_at timestamptz not null default now()
        );
        alter table jobs.abrupt_end add column if not exists outage_run int`,
    });
  }
  await db.query({ text: `delete from jobs.abrupt_end where counted_at < now() - interval '${FORGET_AFTER}'` });
}

/** Of a row `a` that a further end is put to: a suspect counts once it has begun, any other job at once. */
const IS_COUNTED = '(a.since_progress = 0 or a.run is not distinct from excluded.run)';

interface CountRow {
  job_id: string;
  since_progress: number;
  total: number;
  wait_is_over: boolean;
}

/** Counts the run before this one where it ended abruptly, and returns what is known of each job by its id. */
export async function countAbruptEnds(
  db: Executor,
  name: string,
  claims: readonly Claim[],
): Promise<ReadonlyMap<string, AbruptEnds>> {
  const { rows } = await db.query<CountRow>({
    text: `
      with ended as (
        select id, retry_count from jobs.job
        where name = $1 and id = any($2::uuid[]) and output -> 'value' ->> 'message' = $3
      ), counted as (
        insert into jobs.abrupt_end as a (job_id, since_progress, total, run) select id, 1, 1, retry_count - 1 from ended
        on conflict (job_id) do update set
          since_progress = a.since_progress + (${IS_COUNTED} and a.outage_run is distinct from excluded.run)::int,
          total = a.total + (${IS_COUNTED})::int,
          run = null, counted_at = now()
        returning job_id, since_progress, total
      )
      select counted.*, false as wait_is_over from counted
      union all
      select job_id, since_progress, total, counted_at < now() - interval '${LONGEST_WAIT}' from jobs.abrupt_end
      where job_id = any($2::uuid[]) and job_id not in (select id from ended)`,
    values: [name, claims.map(({ id }) => id), HEARTBEAT_LAPSED],
  });
  return new Map(
    rows.map((row) => [
      row.job_id,
      {
        sinceProgress: Number(row.since_progress),
        total: Number(row.total),
        waitIsOver: row.wait_is_over,
      },
    ]),
  );
}

/** Gives suspects back that have not begun, to be taken again in a moment. */
export async function putOffSuspects(db: Executor, name: string, claims: readonly Claim[]): Promise<void> {
  await giveBack(db, name, claims, PUT_OFF);
}

/** Gives jobs back, to be taken again after the wait. That counts as no run, and a suspect among them has not begun it. */
export async function giveBack(
  db: Executor,
  name: string,
  claims: readonly Claim[],
  wait = '0 seconds',
): Promise<void> {
  await db.query({
    text: `
      with given_back as (
        update jobs.job j set state = 'retry', start_after = now() + $4::interval,
          started_on = null, heartbeat_on = null, output = null
        from unnest($2::uuid[], $3::int[]) as c (id, run)
        where j.name = $1 and j.id = c.id and j.state = 'active' and j.retry_count = c.run
        returning j.id
      )
      update jobs.abrupt_end a set run = null from given_back where a.job_id = given_back.id`,
    values: [name, claims.map(({ id }) => id), claims.map(({ retryCount }) => retryCount), wait],
  });
}

/**
 * The suspect begins this run. Its retries are raised so that abrupt ends take none of the ordinary ones. False where the
 * claim was lost while the suspect waited.
 */
export async function beginSuspect(db: Executor, name: string, claim: Claim, retryLimit: number): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `
      with held as (
        update jobs.job set retry_limit = $4::int
        where name = $1 and id = $2::uuid and state = 'active' and retry_count = $3::int
        returning id
      )
      update jobs.abrupt_end set run = $3::int from held where job_id = held.id`,
    values: [name, claim.id, claim.retryCount, retryLimit],
  });
  return rowCount > 0;
}

/**
 * These runs lapsed, if they did, because their process could not reach the database: none is counted as an abrupt end, also
 * where another process has counted it meanwhile. It remains one of the runs that take none of the ordinary retries.
 */
export async function excuseOutage(db: Executor, name: string, claims: readonly Claim[]): Promise<void> {
  await db.query({
    text: `
      with lapsed as (
        select c.id, c.run, j.retry_count > c.run as counted
        from unnest($2::uuid[], $3::int[]) as c (id, run) join jobs.job j on j.name = $1 and j.id = c.id
        where j.retry_count = c.run + 1
          or (j.retry_count = c.run and j.state <> 'active' and j.output -> 'value' ->> 'message' = $4)
      )
      insert into jobs.abrupt_end as a (job_id, since_progress, total, outage_run)
      select id, 0, 0, run from lapsed
      on conflict (job_id) do update set outage_run = excluded.outage_run, since_progress = greatest(
        a.since_progress - (select counted::int from lapsed where id = a.job_id), 0)`,
    values: [name, claims.map(({ id }) => id), claims.map(({ retryCount }) => retryCount), HEARTBEAT_LAPSED],
  });
}

/** The job has made progress: what was counted until now does not tell against it. */
export async function forgiveAbruptEnds(db: Executor, id: string): Promise<void> {
  await db.query({ text: 'update jobs.abrupt_end set since_progress = 0 where job_id = $1::uuid', values: [id] });
}

export async function forgetAbruptEnds(db: Executor, id: string): Promise<void> {
  await db.query({ text: 'delete from jobs.abrupt_end where job_id = $1::uuid', values: [id] });
}

/** The next failure of this run is the last. */
export async function endRetries(db: Executor, name: string, { id, retryCount }: Claim): Promise<void> {
  await db.query({
    text: `
      update jobs.job set retry_limit = retry_count
      where name = $1 and id = $2::uuid and state = 'active' and retry_count = $3`,
    values: [name, id, retryCount],
  });
}
