-- Apps that were made at Slack for deployments, each from before it is made until it is gone there. docs/decisions/0025-slack.md
create table slack_apps (
  project_id text not null references projects (id),
  -- That it is made for; the deployment comes later, and goes earlier.
  deployment_id text not null,
  -- Null: Slack has not said.
  app_id text,
  state text not null check (state in ('making', 'kept', 'unwanted')),
  -- When it counts as given up, or is to be deleted at Slack; null: it is kept.
  next_attempt_at timestamptz,
  state_at timestamptz not null default now(),
  primary key (project_id, deployment_id)
);
-- Not by project: what is to go goes in all projects together.
create index slack_apps_due on slack_apps (next_attempt_at) where next_attempt_at is not null;
