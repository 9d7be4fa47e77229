-- MCP servers that requests bring: what may be sent to them is sealed as long as the run is open, and what they list is a step.
alter table runs
  add column sealed_mcp_credentials text,
  -- Whatever ends a run wipes them.
  add constraint runs_credentials_while_open
    check (sealed_mcp_credentials is null or status in ('in_progress', 'paused'));
-- For `keys reseal`, and for the job that wipes those of runs that nobody goes on with; not a tenant's query.
create index runs_with_credentials on runs (project_id, id) where sealed_mcp_credentials is not null;

alter table run_steps
  drop constraint run_steps_kind_check,
  add constraint run_steps_kind_check check (kind in ('model', 'tool', 'compaction', 'mcp_list'));
