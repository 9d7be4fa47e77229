-- Workspaces in which a Slack app is installed: the bot that it has there.
create table slack_installs (
  project_id text not null references projects (id),
  -- The app, as `channel_accounts` and `deployments` have it.
  account_id text not null,
  team_id text not null,
  bot_user_id text not null,
  sealed_bot_token text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, account_id, team_id)
);

-- For which deployment somebody was sent to install an app. The hash of what they bring back.
create table slack_install_states (
  project_id text not null,
  state_hash text not null,
  deployment_id text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, state_hash),
  foreign key (project_id, deployment_id) references deployments (project_id, id) on delete cascade
);
create index slack_install_states_of_deployments on slack_install_states (project_id, deployment_id);
