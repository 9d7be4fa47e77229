-- What happened in a workspace, and the webhooks that are told of it: src/domains/events, src/kernel/webhooks.

create table domains.events (
  workspace_id text not null references domains.workspaces,
  id text not null,
  type text not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);

create table domains.webhooks (
  workspace_id text not null references domains.workspaces,
  id text not null,
  url text not null,
  -- Types and families; none means all.
  events text[] not null,
  active boolean not null default true,
  -- Since when every attempt has missed.
  failing_since timestamptz,
  -- Set where the service paused it.
  paused_reason text check (paused_reason = 'failing'),
  sealed_secret text not null,
  sealed_previous_secret text,
  previous_secret_expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
-- Not by workspace: deliveries of all workspaces are dispatched together.
create unique index webhooks_by_id on domains.webhooks (id);

create table domains.webhook_deliveries (
  workspace_id text not null,
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
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  foreign key (workspace_id, event_id) references domains.events (workspace_id, id)
);
create unique index webhook_deliveries_of_events on domains.webhook_deliveries (workspace_id, webhook_id, event_id);
create index webhook_deliveries_listed on domains.webhook_deliveries (workspace_id, webhook_id, id);
create index webhook_deliveries_due on domains.webhook_deliveries (webhook_id, next_attempt_at, id) where status = 'pending';
create index webhook_deliveries_settled on domains.webhook_deliveries (updated_at) where status <> 'pending';

create table domains.webhook_attempts (
  workspace_id text not null,
  delivery_id text not null,
  number integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  http_status integer,
  error text,
  primary key (workspace_id, delivery_id, number)
);
