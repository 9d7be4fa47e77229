/**
 * Turns on trial (docs/decisions/0012-abrupt-ends.md): taken over alone after an abrupt end, with no sign of life yet, or on their last
 * try. A kill that hits one looks as if the turn ended the process, so it is set aside, as it should be. Tests that lose no turn let
 * trials end first.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { eventually } from '../support/turns.ts';
import type { Fleet } from './fleet.ts';

/** A turn that was interrupted so often since its last step is given up at its next end. */
const LAST_TRY_AFTER = 2;
/** Between two looks at what the database does for servers that stand still. */
const LOOK_MS = 25;
/** What they have sent has reached their sessions by then. */
const LOOKS_AT_REST = 2;

/** In a replica that lives: one whose replica has died is over. */
async function isOneOnTrial(db: Database): Promise<boolean> {
  const { rows } = await db.query({
    text: `
      select 1 from runs r join replicas p on p.id = r.replica_id
      where r.status = 'in_progress' and p.heartbeat_at > now() - interval '5 seconds' and (
        r.trial_attempt = r.attempt
        or cardinality(r.interrupted_by) >= $1 and coalesce(r.progress_mark, 0) >= (
          select count(*) from run_steps s where s.project_id = r.project_id and s.run_id = r.id and s.status = 'completed'
        )
      )
      limit 1`,
    values: [LAST_TRY_AFTER],
  });
  return rows.length > 0;
}

/**
 * A turn or job that was interrupted twice waits until no replica has ended abruptly for a minute: for those that have, it has passed. They
 * keep their distances from each other, which say what ended them together.
 */
export async function letCalmPass(db: Database): Promise<void> {
  await db.query({
    text: `
      update replicas set heartbeat_at = heartbeat_at - interval '1 minute'
      where heartbeat_at between now() - interval '1 minute' and now() - interval '5 seconds'`,
    values: [],
  });
}

/** Ends them as a power cut would, at a moment when no turn is on trial. For fleets with a database of their own. */
export async function killBetweenTrials(fleet: Fleet, victims: readonly ServerProcess[]): Promise<void> {
  do await untilNoneOnTrial(dbOf(fleet));
  while (!(await killUnlessOnTrial(fleet, victims)));
}

/** False: a turn is on trial, and they live on. None begins one while it looks: they stand still. */
export async function killUnlessOnTrial(fleet: Fleet, victims: readonly ServerProcess[]): Promise<boolean> {
  for (const victim of victims) victim.kill('SIGSTOP');
  await untilAtRest(fleet, victims);
  const isSpared = await isOneOnTrial(dbOf(fleet));
  if (isSpared) for (const victim of victims) victim.kill('SIGCONT');
  else await killProcesses(victims);
  return !isSpared;
}

function dbOf({ db }: Fleet): Database {
  return db ?? assert.fail('the fleet has no database of its own');
}

/** What these servers asked for before they stood still is done: one that has just asked for a turn would begin a trial after the look. */
async function untilAtRest(fleet: Fleet, servers: readonly ServerProcess[]): Promise<void> {
  const applications = servers.map((server) => fleet.applicationOf(server));
  for (let looks = 0; looks < LOOKS_AT_REST; ) {
    await wait(LOOK_MS);
    const { rowCount } = await dbOf(fleet).query({
      text: `select from pg_stat_activity
        where datname = current_database() and application_name = any ($1) and state not like 'idle%'`,
      values: [applications],
    });
    looks = rowCount === 0 ? looks + 1 : 0;
  }
}

/** As a power cut would. */
export async function killProcesses(victims: readonly ServerProcess[]): Promise<void> {
  for (const victim of victims) victim.kill('SIGKILL');
  for (const { ended } of victims) assert.equal((await ended).signal, 'SIGKILL', 'it lived until then');
}

export async function untilNoneOnTrial(db: Database): Promise<void> {
  await eventually(async () => !(await isOneOnTrial(db)) || undefined, 'no turn is on trial');
}
