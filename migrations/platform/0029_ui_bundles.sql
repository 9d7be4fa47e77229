-- UI bundles of agents: HTML documents, kept once for each content. What an agent's draft or version has of one stands there,
-- with its hash.

create table ui_bundles (
  project_id text not null references projects (id),
  -- SHA-256, in hexadecimal.
  content_hash text not null,
  -- Where the bytes lie in the blob store.
  blob_id text not null,
  bytes bigint not null,
  created_at timestamptz not null default now(),
  primary key (project_id, content_hash)
);
-- Not by project: whoever sweeps the blob store has the digests of keys (0016).
create index ui_bundles_by_blob on ui_bundles (blob_digest(project_id || '/' || blob_id));

-- What has bundles, to find whether one of them is in use.
create index agents_with_ui on agents (project_id, id)
  where archived_at is null and draft -> 'ui_resources' <> '[]';
create index agent_versions_with_ui on agent_versions (project_id, agent_id, version)
  where snapshot -> 'ui_resources' <> '[]';
