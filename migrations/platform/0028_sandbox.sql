-- What run_command has: the secrets of its environment, and the box of each run, with its workspace as the last command left it.

create table sandbox_secrets (
  project_id text not null references projects (id),
  name text not null,
  sealed_value text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, name)
);

create table sandbox_boxes (
  project_id text not null references projects (id),
  run_id text not null,
  id text not null,
  -- The workspace as the last finished command left it; null: there has been none, or it left nothing.
  archive_id text,
  archive_bytes bigint not null default 0,
  -- Path below /workspace/output → SHA-256 of what was made a file of it.
  outputs jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, run_id)
);
-- Not by project: whoever sweeps the blob store has the digests of keys (0016).
create index sandbox_boxes_by_blob on sandbox_boxes (blob_digest(project_id || '/' || archive_id)) where archive_id is not null;
-- Not by project: whoever removes the boxes of runs that have ended looks at the oldest of all.
create index sandbox_boxes_by_age on sandbox_boxes (created_at);
