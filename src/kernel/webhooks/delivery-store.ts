/**
 * The statements of the dispatcher, over the tables of a service.
 *
 * A claimed delivery stays `pending`, with the end of its lease as its next attempt: what a replica takes with it when it
 * dies is due again by itself.
 */

import type { Database } from '../db/database.ts';
import { asLook } from '../db/looks.ts';
import { json } from '../db/values.ts';
import { earliestOf } from '../periodic/next-due.ts';
import type { SealedSecrets } from './sealed-secrets.ts';

/** Where a service keeps its webhooks: tables that are alike in both, but for these names. */
export interface WebhookTables {
  /** What stands before `webhooks`, `webhook_deliveries`, `webhook_attempts` and `events`: a schema with its dot, or nothing. */
  readonly schema: '' | `${string}.`;
  /** The column of whose they are. */
  readonly owner: 'project_id' | 'workspace_id';
  /** Of events, besides `type` and `created_at`: what their envelope is made of. */
  readonly eventColumns: readonly string[];
}

/** Longer than an attempt may take, and than settling it. */
const LEASE_MS = 30_000;
/** Endpoints that one look goes through; the next look goes on behind them. */
const ENDPOINTS_A_LOOK = 500;
/** How long a settled delivery is kept. */
const KEPT = '30 days';
const ROWS_A_BATCH = 5_000;

/** With the event's further columns. */
export type ClaimedDelivery<Event> = ClaimedColumns & Event;

interface ClaimedColumns extends SealedSecrets {
  readonly owner_id: string;
  readonly id: string;
  readonly webhook_id: string;
  readonly round: number;
  readonly misses: number;
  readonly url: string;
  readonly failing_since: Date | null;
  readonly event_id: string;
  readonly type: string;
  readonly event_created_at: Date;
}

export interface ClaimRequest {
  readonly now: Date;
  /** Where to begin among the endpoints: behind this webhook. */
  readonly after: string;
  /** Attempts that one endpoint may have at a time here, and one that takes nothing at the moment. */
  readonly perEndpoint: number;
  readonly perFailingEndpoint: number;
  /** How many each has already. */
  readonly busy: ReadonlyMap<string, number>;
  readonly limit: number;
}

export interface Claim<Event> {
  readonly deliveries: readonly ClaimedDelivery<Event>[];
  /** Where the next look begins; '' where this one went through the rest. */
  readonly next: string;
  /** When one is due next, among the endpoints that were gone through. */
  readonly dueAt: Date | undefined;
}

/**
 * Claims what is due, some of each endpoint: one that has thousands waiting takes no more of a look than one that has
 * three. Endpoints are found by skipping along the index, however many deliveries each has.
 */
export async function claimDeliveries<Event>(
  db: Database,
  { schema, owner, eventColumns }: WebhookTables,
  request: ClaimRequest,
): Promise<Claim<Event>> {
  const { now, after, perEndpoint, perFailingEndpoint, busy, limit } = request;
  const leaseUntil = new Date(now.getTime() + LEASE_MS);
  const { rows } = await asLook(db).query<
    ClaimedDelivery<Event> & { last_endpoint: string | null; due_at: Date | null }
  >({
    text: `
      with recursive endpoints as (
        select (select d.webhook_id from ${schema}webhook_deliveries d where d.status = 'pending' and d.webhook_id > $1
                order by d.webhook_id limit 1) as webhook_id, 1 as number
        union all
        select (select d.webhook_id from ${schema}webhook_deliveries d where d.status = 'pending' and d.webhook_id > e.webhook_id
                order by d.webhook_id limit 1), e.number + 1
        from endpoints e where e.webhook_id is not null and e.number < ${ENDPOINTS_A_LOOK}
      ), last as (
        select max(e.webhook_id) filter (where e.number = ${ENDPOINTS_A_LOOK}) as webhook_id, min(later.next_attempt_at) as due_at
        from endpoints e
        left join ${schema}webhooks w on w.id = e.webhook_id and w.active
        left join lateral (
          select next_attempt_at from ${schema}webhook_deliveries
          where status = 'pending' and webhook_id = w.id and next_attempt_at > $3
          order by next_attempt_at limit 1
        ) later on true
      ), due as (
        select d.${owner}, d.id, w.url, w.failing_since, w.sealed_secret, w.sealed_previous_secret,
          w.previous_secret_expires_at, w.sealed_earlier_secrets
        from endpoints e
        join ${schema}webhooks w on w.id = e.webhook_id and w.active
        left join jsonb_to_recordset($2) as b (webhook_id text, count int) on b.webhook_id = e.webhook_id
        cross join lateral (
          select ${owner}, id from ${schema}webhook_deliveries
          where status = 'pending' and webhook_id = e.webhook_id and next_attempt_at <= $3
          order by next_attempt_at, id
          limit greatest(case when w.failing_since is null then $4::int else $5::int end - coalesce(b.count, 0), 0)
          for update skip locked
        ) d
        limit $6
      ), claimed as (
        update ${schema}webhook_deliveries d set next_attempt_at = $7 from due
        where d.${owner} = due.${owner} and d.id = due.id
        returning d.${owner} as owner_id, d.id, d.webhook_id, d.round, d.misses, d.event_id, due.url, due.failing_since,
          due.sealed_secret, due.sealed_previous_secret, due.previous_secret_expires_at, due.sealed_earlier_secrets
      )
      select c.*, v.type, v.created_at as event_created_at, ${eventColumns.map((name) => `v.${name}`).join(', ')},
        last.webhook_id as last_endpoint, last.due_at
      from last left join (claimed c join ${schema}events v on v.${owner} = c.owner_id and v.id = c.event_id) on true`,
    values: [
      after,
      JSON.stringify([...busy].map(([webhook_id, count]) => ({ webhook_id, count }))),
      now,
      perEndpoint,
      perFailingEndpoint,
      limit,
      leaseUntil,
    ],
  });
  const deliveries = rows.filter(({ id }) => id !== null);
  // Cut short: endpoints behind those that were served come first the next time.
  const served =
    deliveries.length < limit
      ? undefined
      : deliveries
          .map(({ webhook_id }) => webhook_id)
          .sort()
          .at(-1);
  const dueAt = earliestOf([rows[0]?.due_at, deliveries.length > 0 ? leaseUntil : undefined]);
  return { deliveries, next: served ?? rows[0]?.last_endpoint ?? '', dueAt };
}

export interface SettledAttempt {
  readonly owner_id: string;
  readonly id: string;
  readonly round: number;
  readonly status: 'pending' | 'succeeded' | 'dead';
  readonly at: string;
  readonly duration_ms: number;
  readonly http_status: number | null;
  readonly error: string | null;
  readonly next_attempt_at: string | null;
}

/** Records attempts. One of an earlier round, or of a delivery that has got there meanwhile, changes no state. */
export async function settleAttempts(
  db: Database,
  { schema, owner }: WebhookTables,
  attempts: readonly SettledAttempt[],
  now: Date,
): Promise<void> {
  await db.query({
    text: `
      with settled as (
        select * from jsonb_to_recordset($1) as s (owner_id text, id text, round int, status text, at timestamptz,
          duration_ms int, http_status int, error text, next_attempt_at timestamptz)
      ), counted as (
        update ${schema}webhook_deliveries d set
          attempt_count = d.attempt_count + 1, last_http_status = s.http_status, last_error = s.error, updated_at = $2,
          misses = case when d.round = s.round and s.error is not null then d.misses + 1 else d.misses end,
          status = case when d.round = s.round and d.status = 'pending' then s.status else d.status end,
          next_attempt_at = case when d.round = s.round and d.status = 'pending' then s.next_attempt_at
                                 else d.next_attempt_at end
        from settled s where d.${owner} = s.owner_id and d.id = s.id
        returning d.${owner}, d.id, d.attempt_count, s.at, s.duration_ms, s.http_status, s.error
      )
      insert into ${schema}webhook_attempts (${owner}, delivery_id, number, at, duration_ms, http_status, error)
      select ${owner}, id, attempt_count, at, duration_ms, http_status, error from counted
      on conflict do nothing`,
    values: [json(attempts), now],
  });
}

/** Removes settled deliveries past their time, and those of webhooks that are gone, each with its attempts. */
export async function sweepDeliveries(
  db: Database,
  { schema, owner }: WebhookTables,
  signal: AbortSignal,
): Promise<void> {
  const over = [
    `select ${owner}, id from ${schema}webhook_deliveries where status <> 'pending' and updated_at < now() - interval '${KEPT}'
     limit ${ROWS_A_BATCH}`,
    `select d.${owner}, d.id from ${schema}webhook_deliveries d
     where not exists (select from ${schema}webhooks w where w.${owner} = d.${owner} and w.id = d.webhook_id)
     limit ${ROWS_A_BATCH}`,
  ];
  for (const which of over) {
    for (let removed = ROWS_A_BATCH; removed === ROWS_A_BATCH && !signal.aborted; ) {
      const { rows } = await db.query<{ removed: number }>({
        text: `
          with over as (${which}), attempts as (
            delete from ${schema}webhook_attempts a using over where a.${owner} = over.${owner} and a.delivery_id = over.id
          ), deliveries as (
            delete from ${schema}webhook_deliveries d using over where d.${owner} = over.${owner} and d.id = over.id
            returning d.id
          )
          select count(*)::int as removed from deliveries`,
        values: [],
      });
      removed = rows[0]?.removed ?? 0;
    }
  }
}
