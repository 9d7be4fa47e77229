/** Work on webhooks that takes longer than a request: replays, and the removal of what nobody asks for any more. */
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { sweepDeliveries } from '../../kernel/webhooks/delivery-store.ts';
import { selectsEventType } from '../feed/event-types.ts';
import { TenantDatabase, type TenantTransaction } from '../store/tenant-db.ts';
import { DELIVERIES_CHANNEL } from './channel.ts';
import { webhookTables } from './webhook-tables.ts';

const REPLAY_WEBHOOK = 'replay-webhook';
const SWEEP_DELIVERIES = 'sweep-webhook-deliveries';
const EVENTS_A_BATCH = 500;

interface ReplayJob {
  readonly projectId: string;
  readonly webhookId: string;
  readonly since: string;
  readonly until: string;
}

interface JobDependencies {
  readonly db: Database;
  readonly now: () => Date;
}

/** Defines the jobs and their times. Call before `jobs.start`. */
export function defineWebhookJobs(jobs: Jobs, deps: JobDependencies): void {
  jobs.define<ReplayJob>(REPLAY_WEBHOOK, ({ data, signal }) => replay(deps, data, signal), { concurrency: 2 });
  jobs.define(SWEEP_DELIVERIES, ({ signal }) => sweepDeliveries(deps.db, webhookTables, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_DELIVERIES, '17 * * * *', {});
}

/** Has the events from `since` to `until` delivered once more. */
export async function enqueueReplay(
  tx: TenantTransaction,
  jobs: Jobs,
  { webhookId, since, until }: { readonly webhookId: string; readonly since: Date; readonly until: Date },
): Promise<void> {
  const data = { projectId: tx.projectId, webhookId, since: since.toISOString(), until: until.toISOString() };
  await tx.enqueue(jobs, REPLAY_WEBHOOK, data satisfies ReplayJob);
}

async function replay({ db, now }: JobDependencies, job: ReplayJob, signal: AbortSignal): Promise<void> {
  const home = new TenantDatabase(db, job.projectId);
  for (let after: string | undefined = ''; after !== undefined; ) {
    signal.throwIfAborted();
    after = await replayBatch(home, job, after, now());
    db.wake(DELIVERIES_CHANNEL);
  }
}

/** The id to go on after; undefined at the end, and when the webhook is gone. */
async function replayBatch(
  home: TenantDatabase,
  { webhookId, since, until }: ReplayJob,
  after: string,
  now: Date,
): Promise<string | undefined> {
  const webhook = await home.selectFrom('webhooks').select('events').where('id', '=', webhookId).executeTakeFirst();
  if (webhook === undefined) return undefined;
  const { rows } = await home.raw<{ id: string; type: string }>({
    text: `
      select id, type from events
      where project_id = $1 and id > $2 and created_at >= $3 and created_at <= $4
      order by id limit ${EVENTS_A_BATCH}`,
    values: [after, since, until],
  });
  const wanted = rows.filter(
    ({ type }) => webhook.events.length === 0 || webhook.events.some((selector) => selectsEventType(selector, type)),
  );
  await home.raw({
    text: `
      insert into webhook_deliveries as d
        (project_id, id, webhook_id, event_id, event_type, next_attempt_at, created_at, updated_at)
      select $1, w.id, $2, w.event_id, w.event_type, $4, $4, $4
      from jsonb_to_recordset($3) as w (id text, event_id text, event_type text)
      on conflict (project_id, webhook_id, event_id) do update set
        status = 'pending', round = d.round + 1, misses = 0, next_attempt_at = $4, updated_at = $4
      where d.status <> 'pending'`,
    values: [
      webhookId,
      JSON.stringify(wanted.map(({ id, type }) => ({ id: mintId('whd'), event_id: id, event_type: type }))),
      now,
    ],
  });
  return rows.length < EVENTS_A_BATCH ? undefined : rows.at(-1)?.id;
}
