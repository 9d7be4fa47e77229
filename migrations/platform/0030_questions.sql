-- Tools that ask a person something before they give their result, and calls that are bound to what was shown of them.
alter table run_steps
  add column target jsonb,
  drop constraint run_steps_status_check,
  -- ready: may be made, and has not been begun since it was approved or answered.
  add constraint run_steps_status_check check (status in ('approval', 'waiting', 'ready', 'started', 'completed'));

alter table approvals
  add column question_state jsonb,
  add column expires_at timestamptz,
  add column holder text;

-- A call may be approved, ask, be answered, and ask again.
drop index approvals_by_call;
create index approvals_by_call on approvals (project_id, run_id, tool_call_id, id);
-- For replicas that close questions; not a tenant's query.
create index approvals_that_close on approvals (expires_at) where status = 'pending' and expires_at is not null;
