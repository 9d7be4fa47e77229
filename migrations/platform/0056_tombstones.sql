-- Where objects stood in their lists that are gone. docs/decisions/0006-openai-surfaces.md
create table tombstones (
  project_id text not null,
  kind text not null check (kind in ('conversation', 'file', 'skill', 'vector_store')),
  id text not null,
  -- Whose it was; null: the tenant's.
  smith_id text,
  removed_at timestamptz not null default now(),
  primary key (project_id, kind, id)
);
create index tombstones_by_age on tombstones (removed_at);

-- One for each addition of a file to a store.
create table vector_store_file_tombstones (
  project_id text not null,
  vector_store_id text not null,
  file_id text not null,
  position bigint not null,
  batch_id text,
  removed_at timestamptz not null default now(),
  primary key (project_id, vector_store_id, file_id, position)
);
create index vector_store_file_tombstones_by_age on vector_store_file_tombstones (removed_at);
