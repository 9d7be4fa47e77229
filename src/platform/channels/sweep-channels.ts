/**
 * What of channels is old goes: events that began their turns long ago, answers that were said, and who guessed tokens. Deployments
 * whose start token nobody has sent in time wait no longer.
 */
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';

const SWEEP_CHANNELS = 'sweep-channels';
const KEPT_MS = 30 * 86_400_000;
/** What is counted by the hour. */
const COUNTED_MS = 2 * 3_600_000;
const ROWS_A_BATCH = 5_000;

interface SweepDependencies {
  readonly db: Database;
  readonly now: () => Date;
}

/** Defines the job and its times. Call before `jobs.start`. */
export function defineChannelSweep(jobs: Jobs, deps: SweepDependencies): void {
  jobs.define(SWEEP_CHANNELS, ({ signal }) => sweepChannels(deps, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_CHANNELS, '32 * * * *', {});
}

export async function sweepChannels({ db, now }: SweepDependencies, signal: AbortSignal): Promise<void> {
  const nowMs = now().getTime();
  for (const { text, ageMs } of SWEEPS) {
    const before = new Date(nowMs - ageMs);
    for (let changed = ROWS_A_BATCH; changed === ROWS_A_BATCH && !signal.aborted; ) {
      changed = (await db.query({ text, values: [before, ROWS_A_BATCH] })).rowCount;
    }
  }
}

const SWEEPS = [
  {
    ageMs: 0,
    text: `
      update deployments
      set status = 'disconnected', start_token_hash = null, start_token_expires_at = null, updated_at = now()
      where (project_id, id) in (
        select project_id, id from deployments
        where start_token_hash is not null and status = 'pending' and start_token_expires_at < $1 limit $2)`,
  },
  {
    ageMs: KEPT_MS,
    text: `
      delete from inbound_events where (project_id, id) in (
        select project_id, id from inbound_events where state <> 'waiting' and created_at < $1 limit $2)`,
  },
  {
    // Their parts go with them.
    ageMs: KEPT_MS,
    text: `
      delete from channel_answers where (project_id, id) in (
        select project_id, id from channel_answers where settled_at < $1 limit $2)`,
  },
  {
    ageMs: COUNTED_MS,
    text: `
      delete from channel_guesses where (project_id, kind, account_id, sender) in (
        select project_id, kind, account_id, sender from channel_guesses where hour < $1 limit $2)`,
  },
  {
    ageMs: COUNTED_MS,
    text: `
      delete from email_senders where (project_id, deployment_id, sender) in (
        select project_id, deployment_id, sender from email_senders where hour < $1 limit $2)`,
  },
];
