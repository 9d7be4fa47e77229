-- The platform's first tables. Every tenant table has project_id as the first column of its primary key and of every
-- index. Ids are time-ordered (kernel/ids), so "newest first" is "id descending" and needs no index of its own.

create extension if not exists vector;

-- Organizations, projects and who may call ------------------------------------------------------------------------

create table organizations (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table projects (
  id text primary key,
  organization_id text not null references organizations (id),
  name text not null,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  archived_at timestamptz
);
create unique index projects_live_name on projects (organization_id, name) where archived_at is null;
create index projects_by_organization on projects (organization_id, id);

-- RS256 keys that sign tokens. The newest live one signs; every one that is not retired verifies.
create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private_jwk text not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

create table organization_keys (
  organization_id text not null references organizations (id),
  id text not null,
  name text,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  primary key (organization_id, id)
);

create table tokens (
  project_id text not null references projects (id),
  id text not null,
  scope text not null check (scope in ('admin', 'smith')),
  smith_id text,
  scopes text[] not null,
  name text,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  primary key (project_id, id)
);

-- Idempotency-Key: the answer of a create, kept beside the change that it answers. Bodies are sealed: some hold a secret.
create table idempotency_keys (
  project_id text not null,
  operation text not null,
  key text not null,
  fingerprint text not null,
  status int,
  sealed_body text,
  -- A run answers from its own row instead of a stored body.
  run_id text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (project_id, operation, key)
);
create index idempotency_keys_by_expiry on idempotency_keys (expires_at);

-- The feed --------------------------------------------------------------------------------------------------------

create table events (
  project_id text not null,
  id text not null,
  type text not null,
  smith_id text,
  actor jsonb,
  data jsonb not null,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create index events_by_type on events (project_id, type, id);
create index events_by_smith on events (project_id, smith_id, id);

-- Configuration: agents, smiths, customers, model keys -------------------------------------------------------------

create table agents (
  project_id text not null references projects (id),
  id text not null,
  slug text,
  name text not null,
  draft jsonb not null,
  active_version int,
  rollout_version int,
  rollout_percent int not null default 0 check (rollout_percent between 0 and 100),
  latest_version int not null default 0,
  -- Smiths ever provisioned: gives each its rollout slot (see assign-rollout-slot.ts).
  smith_ordinal bigint not null default 0,
  smith_count int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  primary key (project_id, id)
);
create unique index agents_live_slug on agents (project_id, slug) where archived_at is null;

create table agent_versions (
  project_id text not null,
  agent_id text not null,
  version int not null,
  snapshot jsonb not null,
  created_by text,
  note text,
  created_at timestamptz not null default now(),
  primary key (project_id, agent_id, version),
  foreign key (project_id, agent_id) references agents (project_id, id)
);

create table customers (
  project_id text not null references projects (id),
  id text not null,
  name text not null,
  external_ids jsonb not null default '{}',
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);

create table smiths (
  project_id text not null references projects (id),
  id text not null,
  external_id text,
  agent_id text,
  customer_id text,
  display_name text,
  locale text,
  timezone text,
  metadata jsonb not null default '{}',
  -- The smith's own configuration: only the keys that were set. Over its agent's, or over the defaults.
  config jsonb not null default '{}',
  pin int,
  -- 0..99; below the agent's rollout_percent means the rollout version.
  rollout_slot smallint not null default 0,
  revision int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  primary key (project_id, id),
  foreign key (project_id, agent_id) references agents (project_id, id),
  foreign key (project_id, customer_id) references customers (project_id, id)
);
-- One live smith for an (external_id, agent) pair, whatever races.
create unique index smiths_live_external_id on smiths (project_id, external_id, coalesce(agent_id, ''))
  where archived_at is null and external_id is not null;
create index smiths_by_external_id on smiths (project_id, external_id text_pattern_ops, id);
create index smiths_by_agent on smiths (project_id, agent_id, id);
create index smiths_by_customer on smiths (project_id, customer_id, id) where customer_id is not null;

create table smith_revisions (
  project_id text not null,
  smith_id text not null,
  version int not null,
  snapshot jsonb not null,
  created_by text,
  note text,
  created_at timestamptz not null default now(),
  primary key (project_id, smith_id, version),
  foreign key (project_id, smith_id) references smiths (project_id, id)
);

-- smith_id '' is the tenant's own key.
create table model_keys (
  project_id text not null references projects (id),
  smith_id text not null default '',
  provider text not null,
  sealed_api_key text not null,
  base_url text,
  workspace_id text,
  updated_at timestamptz not null default now(),
  primary key (project_id, smith_id, provider)
);

-- A smith with the agent version that its next turn runs: its pin, else the rollout's for its slot, else the active one.
create view smith_configurations as
select
  s.*,
  a.name as agent_name,
  v.version as agent_version,
  v.snapshot as agent_snapshot
from smiths s
left join agents a on a.project_id = s.project_id and a.id = s.agent_id
left join agent_versions v
  on v.project_id = s.project_id
  and v.agent_id = s.agent_id
  and v.version = coalesce(
    s.pin,
    case when a.rollout_version is not null and s.rollout_slot < a.rollout_percent then a.rollout_version end,
    a.active_version
  );

-- Turns -----------------------------------------------------------------------------------------------------------

-- A running server process. Its runs are its own while the heartbeat is fresh.
create table replicas (
  id text primary key,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now()
);

create table threads (
  project_id text not null,
  smith_id text not null,
  id text not null,
  -- Turns ever started; orders messages without trusting anybody's clock.
  turns int not null default 0,
  -- What the turns up to summary_turn said, once they no longer fit the model's window.
  summary text,
  summary_turn int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, smith_id, id),
  foreign key (project_id, smith_id) references smiths (project_id, id)
);

create table runs (
  project_id text not null,
  id text not null,
  smith_id text not null,
  thread_id text not null,
  turn int not null,
  agent_id text,
  agent_version int,
  status text not null check (status in ('in_progress', 'paused', 'completed', 'failed', 'cancelled')),
  channel text not null,
  input jsonb not null,
  -- Everything the turn runs with, fixed when it starts: a resumed turn reads this and nothing newer.
  config jsonb not null,
  output jsonb,
  stop_reason text,
  error jsonb,
  warnings jsonb not null default '[]',
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  -- Millionths of a US dollar; null while no price is known for the model.
  cost_micros bigint,
  metadata jsonb not null default '{}',
  actor jsonb,
  replay_of text,
  -- The lease: the replica that executes the turn, and which attempt it is. Every write of the executor names both.
  replica_id text,
  attempt int not null default 1,
  cancel_requested_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id),
  foreign key (project_id, smith_id) references smiths (project_id, id)
);
create unique index runs_one_turn_per_smith on runs (project_id, smith_id) where status = 'in_progress';
create index runs_by_smith on runs (project_id, smith_id, id);
create index runs_by_agent on runs (project_id, agent_id, id) where agent_id is not null;
create index runs_by_status on runs (project_id, status, id);
-- For replicas that look for turns left behind; not a tenant's query.
create index runs_in_flight on runs (replica_id) where status = 'in_progress';

-- A step is durable before the next begins. position 0, 1, 2 … within the run.
create table run_steps (
  project_id text not null,
  run_id text not null,
  position int not null,
  kind text not null check (kind in ('model', 'tool', 'compaction')),
  -- model: completed. tool: approval (waits for a person), waiting (for the client's result), started, completed.
  status text not null check (status in ('approval', 'waiting', 'started', 'completed')),
  name text not null,
  call_id text,
  input jsonb,
  output jsonb,
  error text,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost_micros bigint,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (project_id, run_id, position)
);
create unique index run_steps_by_call on run_steps (project_id, run_id, call_id) where call_id is not null;

-- What the next turn reads: input and results in the order that the model must see them.
create table messages (
  project_id text not null,
  smith_id text not null,
  thread_id text not null,
  turn int not null,
  position int not null,
  run_id text,
  role text not null check (role in ('system', 'user', 'assistant', 'tool')),
  content jsonb not null,
  tokens int not null,
  created_at timestamptz not null default now(),
  primary key (project_id, smith_id, thread_id, turn, position)
);

-- The timeline. Adjacent deltas share a row: data.deltas has the pieces, seq is the last one's.
create table run_events (
  project_id text not null,
  run_id text not null,
  seq bigint not null,
  type text not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  primary key (project_id, run_id, seq)
);

create table approvals (
  project_id text not null,
  id text not null,
  run_id text not null,
  smith_id text not null,
  tool_call_id text not null,
  tool text not null,
  args jsonb not null default '{}',
  elicitation jsonb,
  status text not null default 'pending' check (status in ('pending', 'approved', 'rejected', 'expired')),
  actor text,
  reason text,
  content jsonb,
  created_at timestamptz not null default now(),
  resolved_at timestamptz,
  primary key (project_id, id)
);
create index approvals_by_status on approvals (project_id, status, id);
create index approvals_by_smith on approvals (project_id, smith_id, id);
create unique index approvals_by_call on approvals (project_id, run_id, tool_call_id);
