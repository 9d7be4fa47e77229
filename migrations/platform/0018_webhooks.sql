-- Webhooks: where a project's events are delivered, and what became of each delivery.

create table webhooks (
  project_id text not null references projects (id),
  id text not null,
  url text not null,
  -- Types and families; none means all.
  events text[] not null,
  active boolean not null default true,
  -- Since when every attempt has missed.
  failing_since timestamptz,
  -- Set where the platform paused it.
  paused_reason text check (paused_reason = 'failing'),
  sealed_secret text not null,
  sealed_previous_secret text,
  previous_secret_expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
-- Not by project: deliveries of all projects are dispatched together.
create unique index webhooks_by_id on webhooks (id);

create table webhook_deliveries (
  project_id text not null,
  id text not null,
  webhook_id text not null,
  event_id text not null,
  event_type text not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'dead')),
  attempt_count integer not null default 0,
  -- A redelivery begins the next round: an attempt of an earlier one no longer decides.
  round integer not null default 1,
  -- Attempts of this round that missed.
  misses integer not null default 0,
  last_http_status integer,
  last_error text,
  -- While an attempt is under way: when it counts as lost.
  next_attempt_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id)
);
create unique index webhook_deliveries_of_events on webhook_deliveries (project_id, webhook_id, event_id);
create index webhook_deliveries_listed on webhook_deliveries (project_id, webhook_id, id);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_settled on webhook_deliveries (updated_at) where status <> 'pending';

create table webhook_attempts (
  project_id text not null,
  delivery_id text not null,
  number integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  http_status integer,
  error text,
  primary key (project_id, delivery_id, number)
);

-- How far each follower of the feed has come.
create table feed_followers (
  name text primary key,
  cursor text not null
);
-- Webhooks begin with what happens from now on.
insert into feed_followers (name, cursor) select 'webhooks', pg_snapshot_xmin(pg_current_snapshot()) || '/';
