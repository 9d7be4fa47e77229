-- Skills: bundles of instructions and files that turns read, in versions that never change.

create table skills (
  project_id text not null references projects (id),
  id text not null,
  name text not null,
  default_version int not null,
  -- Of all that there ever were: numbers are not given twice.
  latest_version int not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
create unique index skills_by_name on skills (project_id, name);
create index skills_listed on skills (project_id, id collate "C");

create table skill_versions (
  project_id text not null,
  skill_id text not null,
  version int not null,
  description text not null,
  license text,
  compatibility text,
  metadata jsonb,
  -- Path, size, sha256, media type, and where its bytes lie in the archive; by path.
  files jsonb not null,
  -- Of all files.
  bytes bigint not null,
  -- The archive that they are kept as.
  archive_id text not null,
  archive_bytes bigint not null,
  archive_sha256 text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, skill_id, version),
  foreign key (project_id, skill_id) references skills (project_id, id)
);
-- Not by project: whoever sweeps the blob store has the digests of keys (0016).
create index skill_versions_by_blob on skill_versions (blob_digest(project_id || '/' || archive_id));

-- What refers to skills, to find whether one of them is in use.
create index agents_with_skills on agents (project_id, id)
  where archived_at is null and draft -> 'skills' <> '[]';
create index agent_versions_with_skills on agent_versions (project_id, agent_id, version)
  where snapshot -> 'skills' <> '[]';
create index smiths_with_skills on smiths (project_id, id)
  where archived_at is null and config ? 'skills';
create index runs_with_skills on runs (project_id, id)
  where status in ('in_progress', 'paused') and config ? 'skills';
