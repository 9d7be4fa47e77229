-- Schedules: turns that begin at the times of a cron expression. docs/decisions/0016-schedules.md

create table schedules (
  project_id text not null,
  id text not null,
  smith_id text not null,
  name text,
  cron text not null,
  timezone text not null,
  -- Empty: the turn is told which schedule is due.
  input jsonb not null,
  -- Null: each turn has a thread of its own.
  thread_id text,
  enabled boolean not null,
  -- Null while it is disabled, and once its smith is archived.
  next_fire_at timestamptz,
  last_fire_at timestamptz,
  -- Deliveries that wait for the smith.
  waiting integer not null default 0,
  -- What became of the delivery that was settled last: {id, status, due_at, run_id, error}.
  last_delivery jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  foreign key (project_id, smith_id) references smiths (project_id, id)
);
create index schedules_of_smiths on schedules (project_id, smith_id, id);
-- Not by project: what is due in all projects is found together.
create index schedules_due on schedules (next_fire_at) where next_fire_at is not null;

-- Deliveries: each due time of a schedule, and each run_now, once.
create table schedule_fires (
  project_id text not null,
  id text not null,
  schedule_id text not null,
  smith_id text not null,
  kind text not null check (kind in ('scheduled', 'manual')),
  due_at timestamptz not null,
  status text not null check (status in ('queued', 'started', 'failed', 'skipped')),
  run_id text,
  -- Why no turn began: {code, message}.
  error jsonb,
  created_at timestamptz not null,
  settled_at timestamptz,
  primary key (project_id, id),
  foreign key (project_id, schedule_id) references schedules (project_id, id) on delete cascade
);
create unique index schedule_fires_once on schedule_fires (project_id, schedule_id, due_at) where kind = 'scheduled';
create index schedule_fires_listed on schedule_fires (project_id, schedule_id, id);
create index schedule_fires_waiting on schedule_fires (project_id, smith_id, due_at, id) where status = 'queued';
-- Not by project: what is old goes in all projects together.
create index schedule_fires_settled on schedule_fires (settled_at) where status <> 'queued';

-- The deliveries of one smith are started one after the other: what is claimed is the smith's queue.
create table schedule_queues (
  project_id text not null,
  smith_id text not null,
  -- Null: nothing waits. While a delivery is being started: when the claim counts as lost.
  next_attempt_at timestamptz,
  -- Raised with each delivery that is added: whoever claimed the queue before has not seen it.
  version bigint not null default 0,
  -- In a row: attempts that found the smith busy or the project full, and those that failed for no reason of the delivery's.
  waits integer not null default 0,
  failures integer not null default 0,
  -- Claims of this delivery that nobody has settled, this one included.
  claims integer not null default 0,
  primary key (project_id, smith_id)
);
create index schedule_queues_due on schedule_queues (project_id, next_attempt_at) where next_attempt_at is not null;
