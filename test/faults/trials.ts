/**
 * Turns on trial (docs/decisions/0012-abrupt-ends.md): taken over alone after an abrupt end, with no sign of life yet. A kill that hits
 * one looks as if the turn ended the process, so it is set aside, as it should be. Tests that lose no turn let trials end first.
 */
import type { Database } from '../../src/kernel/db/database.ts';
import { eventually } from '../support/turns.ts';
import type { Fleet } from './fleet.ts';

/** In a replica that lives: one whose replica has died is over. */
export async function isOneOnTrial(db: Database): Promise<boolean> {
  const { rows } = await db.query({
    text: `
      select 1 from runs r join replicas p on p.id = r.replica_id
      where r.status = 'in_progress' and r.trial_attempt = r.attempt and p.heartbeat_at > now() - interval '5 seconds' limit 1`,
    values: [],
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

/** For fleets with a database of their own. */
export async function untilNoneOnTrial({ db }: Fleet): Promise<void> {
  if (db === undefined) throw new Error('the fleet has no database of its own');
  await eventually(async () => !(await isOneOnTrial(db)) || undefined, 'no turn is on trial');
}
