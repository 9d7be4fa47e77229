-- Files and vector stores that end by themselves.

alter table files add column expires_at timestamptz;
create index files_expiring on files (project_id, expires_at) where expires_at is not null;

-- A store ends that long after it was last active. Its row stays and says so; expired_at is set once its content goes.
alter table vector_stores add column expires_after_seconds integer, add column expired_at timestamptz;
create index vector_stores_expiring on vector_stores (project_id, id)
  where expires_after_seconds is not null and expired_at is null and deleted_at is null;
