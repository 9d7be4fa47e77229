/**
 * The statements of the dispatcher.
 *
 * A claimed delivery stays `pending`, with the end of its lease as its next attempt: what a replica takes with it when it
 * dies is due again by itself.
 */
import type { Database } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import type { Actor, JsonObject } from '../tables.ts';

/** Longer than an attempt may take, and than settling it. */
const LEASE_MS = 30_000;
/** Endpoints that one look goes through; the next look goes on behind them. */
const ENDPOINTS_A_LOOK = 500;

export interface ClaimedDelivery {
  readonly project_id: string;
  readonly id: string;
  readonly webhook_id: string;
  readonly round: number;
  readonly misses: number;
  readonly url: string;
  readonly failing_since: Date | null;
  readonly sealed_secret: string;
  readonly sealed_previous_secret: string | null;
  readonly previous_secret_expires_at: Date | null;
  readonly event_id: string;
  readonly type: string;
  readonly smith_id: string | null;
  readonly actor: Actor | null;
  readonly data: JsonObject;
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

export interface Claim {
  readonly deliveries: readonly ClaimedDelivery[];
  /** Where the next look begins; '' where this one went through the rest. */
  readonly next: string;
}

/**
 * Claims what is due, some of each endpoint: one that has thousands waiting takes no more of a look than one that has
 * three. Endpoints are found by skipping along the index, however many deliveries each has.
 */
export async function claimDeliveries(db: Database, request: ClaimRequest): Promise<Claim> {
  const { now, after, perEndpoint, perFailingEndpoint, busy, limit } = request;
  const { rows } = await db.query<ClaimedDelivery & { last_endpoint: string | null }>({
    text: `
      with recursive endpoints as (
        select (select d.webhook_id from webhook_deliveries d where d.status = 'pending' and d.webhook_id > $1
                order by d.webhook_id limit 1) as webhook_id, 1 as number
        union all
        select (select d.webhook_id from webhook_deliveries d where d.status = 'pending' and d.webhook_id > e.webhook_id
                order by d.webhook_id limit 1), e.number + 1
        from endpoints e where e.webhook_id is not null and e.number < ${ENDPOINTS_A_LOOK}
      ), last as (
        select max(webhook_id) filter (where number = ${ENDPOINTS_A_LOOK}) as webhook_id from endpoints
      ), due as (
        select d.project_id, d.id, w.url, w.failing_since, w.sealed_secret, w.sealed_previous_secret,
          w.previous_secret_expires_at
        from endpoints e
        join webhooks w on w.id = e.webhook_id and w.active
        left join jsonb_to_recordset($2) as b (webhook_id text, count int) on b.webhook_id = e.webhook_id
        cross join lateral (
          select project_id, id from webhook_deliveries
          where status = 'pending' and webhook_id = e.webhook_id and next_attempt_at <= $3
          order by next_attempt_at
          limit greatest(case when w.failing_since is null then $4::int else $5::int end - coalesce(b.count, 0), 0)
          for update skip locked
        ) d
        limit $6
      ), claimed as (
        update webhook_deliveries d set next_attempt_at = $7 from due
        where d.project_id = due.project_id and d.id = due.id
        returning d.project_id, d.id, d.webhook_id, d.round, d.misses, d.event_id, due.url, due.failing_since,
          due.sealed_secret, due.sealed_previous_secret, due.previous_secret_expires_at
      )
      select c.*, v.type, v.smith_id, v.actor, v.data, v.created_at as event_created_at, last.webhook_id as last_endpoint
      from last left join (claimed c join events v on v.project_id = c.project_id and v.id = c.event_id) on true`,
    values: [
      after,
      JSON.stringify([...busy].map(([webhook_id, count]) => ({ webhook_id, count }))),
      now,
      perEndpoint,
      perFailingEndpoint,
      limit,
      new Date(now.getTime() + LEASE_MS),
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
  return { deliveries, next: served ?? rows[0]?.last_endpoint ?? '' };
}

export interface SettledAttempt {
  readonly project_id: string;
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
export async function settleAttempts(db: Database, attempts: readonly SettledAttempt[], now: Date): Promise<void> {
  await db.query({
    text: `
      with settled as (
        select * from jsonb_to_recordset($1) as s (project_id text, id text, round int, status text, at timestamptz,
          duration_ms int, http_status int, error text, next_attempt_at timestamptz)
      ), counted as (
        update webhook_deliveries d set
          attempt_count = d.attempt_count + 1, last_http_status = s.http_status, last_error = s.error, updated_at = $2,
          misses = case when d.round = s.round and s.error is not null then d.misses + 1 else d.misses end,
          status = case when d.round = s.round and d.status = 'pending' then s.status else d.status end,
          next_attempt_at = case when d.round = s.round and d.status = 'pending' then s.next_attempt_at
                                 else d.next_attempt_at end
        from settled s where d.project_id = s.project_id and d.id = s.id
        returning d.project_id, d.id, d.attempt_count, s.at, s.duration_ms, s.http_status, s.error
      )
      insert into webhook_attempts (project_id, delivery_id, number, at, duration_ms, http_status, error)
      select project_id, id, attempt_count, at, duration_ms, http_status, error from counted
      on conflict do nothing`,
    values: [json(attempts), now],
  });
}
