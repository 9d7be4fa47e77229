-- Traces that were pushed from outside, with their spans. The trace of a run is derived from runs, run_steps and approvals.

create table external_traces (
  project_id text not null references projects (id),
  id text not null,
  -- Among whose names external_id is one: '' for the project's tokens, a smith's id for that smith's.
  pushed_by text not null,
  external_id text not null,
  smith_id text,
  app_id text,
  -- Of its topmost span that began first.
  name text not null,
  status text not null check (status in ('completed', 'failed')),
  started_at timestamptz not null,
  ended_at timestamptz not null,
  -- Of its spans, each of them once.
  span_count integer not null default 0,
  span_bytes integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost_micros bigint,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id),
  foreign key (project_id, smith_id) references smiths (project_id, id)
);
create unique index external_traces_pushed on external_traces (project_id, pushed_by, external_id);
create index external_traces_by_external_id on external_traces (project_id, external_id, id);
create index external_traces_by_smith on external_traces (project_id, smith_id, id) where smith_id is not null;
create index external_traces_by_app on external_traces (project_id, app_id, id) where app_id is not null;
create index external_traces_by_status on external_traces (project_id, status, id);
-- For the sweep; not a tenant's query.
create index external_traces_by_age on external_traces (updated_at);

create table external_spans (
  project_id text not null,
  trace_id text not null,
  span_id text not null,
  parent_span_id text,
  name text not null,
  kind text not null check (kind in ('turn', 'model', 'tool', 'retrieval', 'memory', 'approval', 'other')),
  -- Null: it did not fail.
  error jsonb,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  attributes jsonb not null default '{}',
  input_tokens bigint,
  output_tokens bigint,
  cost_micros bigint,
  primary key (project_id, trace_id, span_id)
);
