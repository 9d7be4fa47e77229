/** Work on webhooks that takes longer than a request: replays, and the removal of what nobody asks for any more. */
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { selectsEventType } from '../feed/event-types.ts';
import { TenantDatabase, type TenantTransaction } from '../store/tenant-db.ts';
import { DELIVERIES_CHANNEL } from './channel.ts';

const REPLAY_WEBHOOK = 'replay-webhook';
const SWEEP_DELIVERIES = 'sweep-webhook-deliveries';
const EVENTS_A_BATCH = 500;
const ROWS_A_BATCH = 5_000;
/** How long a settled delivery is kept. */
const KEPT = '30 days';

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
  jobs.define(SWEEP_DELIVERIES, ({ signal }) => sweepDeliveries(deps.db, signal), { concurrency: 1 });
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

/** Removes settled deliveries past their time, and those of webhooks that are gone, each with its attempts. */
async function sweepDeliveries(db: Database, signal: AbortSignal): Promise<void> {
  const over = [
    `select project_id, id from webhook_deliveries where status <> 'pending' and updated_at < now() - interval '${KEPT}'
     limit ${ROWS_A_BATCH}`,
    `select d.project_id, d.id from webhook_deliveries d
     where not exists (select from webhooks w where w.project_id = d.project_id and w.id = d.webhook_id)
     limit ${ROWS_A_BATCH}`,
  ];
  for (const which of over) {
    for (let removed = ROWS_A_BATCH; removed === ROWS_A_BATCH && !signal.aborted; ) {
      const { rows } = await db.query<{ removed: number }>({
        text: `
          with over as (${which}), attempts as (
            delete from webhook_attempts a using over where a.project_id = over.project_id and a.delivery_id = over.id
          ), deliveries as (
            delete from webhook_deliveries d using over where d.project_id = over.project_id and d.id = over.id
            returning d.id
          )
          select count(*)::int as removed from deliveries`,
        values: [],
      });
      removed = rows[0]?.removed ?? 0;
    }
  }
}
