-- Apps: programs that an organization has let into its projects. docs/decisions/0023-authorization-server.md

create table oauth_apps (
  project_id text not null references projects (id),
  id text not null,
  organization_id text not null references organizations (id),
  client_id text not null,
  client_name text not null,
  -- All that its tokens may do.
  scopes text[] not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  primary key (project_id, id)
);
create unique index oauth_apps_one on oauth_apps (project_id, client_id) where revoked_at is null;
-- Not by project: an organization sees those of all its projects.
create index oauth_apps_by_organization on oauth_apps (organization_id, id);

alter table tokens
  -- The app that holds it.
  add column app_id text;
create index tokens_of_app on tokens (project_id, app_id) where app_id is not null;

alter table oauth_requests
  -- Of an app with `openid`: what its id_token says of the person, until the code is redeemed.
  add column claims jsonb;
