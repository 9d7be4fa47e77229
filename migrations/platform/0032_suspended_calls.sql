-- Calls of MCP servers that wait for a person's answer, and that no replica holds open: what it takes to go on with each.
create table mcp_suspended_calls (
  project_id text not null,
  run_id text not null,
  call_id text not null,
  smith_id text not null,
  server_id text not null,
  -- Of the registration that was called: another is told nothing of the session.
  revision int not null,
  -- The session, the ids of the call and of its question, where its stream is read on, and the question.
  sealed_session text not null,
  -- A replica ends the session, until then.
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  primary key (project_id, run_id, call_id)
);
