-- What indexing a file needs to know between its runs.

alter table vector_store_files
  -- Since when the file has a place in line, and a job: a project holds few places at a time. Null: it waits for one.
  add column queued_at timestamptz,
  -- Runs that a passing fault ended. Runs that a crash cut off are not counted here.
  add column attempts int not null default 0,
  -- Who added the file, for the event that tells how its indexing ended.
  add column actor jsonb;

create index vector_store_files_waiting on vector_store_files (project_id, position)
  where status = 'in_progress' and queued_at is null;
create index vector_store_files_queued on vector_store_files (project_id, position)
  where status = 'in_progress' and queued_at is not null;

-- Deleted stores whose rows are still being removed.
create index vector_stores_deleted on vector_stores (deleted_at) where deleted_at is not null;
