-- Calls of paused runs that wait until the smith's user connects an account.
alter table run_steps
  drop constraint run_steps_status_check,
  -- connection: waits until an account is connected.
  add constraint run_steps_status_check
    check (status in ('approval', 'waiting', 'connection', 'ready', 'started', 'completed'));

create table connection_waits (
  project_id text not null,
  run_id text not null,
  call_id text not null,
  smith_id text not null,
  -- Which connection of the smith: a provider, or `mcp:<server>`.
  connection_key text not null,
  provider text not null,
  mcp_server text not null,
  authorize_url text not null,
  -- It was connected since: the run goes on once its smith is free.
  connected_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (project_id, run_id, call_id)
);
create index connection_waits_of_smiths on connection_waits (project_id, smith_id, connection_key) where connected_at is null;
-- For replicas that let runs go on; not a tenant's query.
create index connection_waits_that_end on connection_waits (connected_at, run_id) where connected_at is not null;
