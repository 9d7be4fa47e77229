-- Where people reach a smith, or an agent with one smith a person: channels and hosted pages.
create table deployments (
  project_id text not null references projects (id),
  id text not null,
  kind text not null check (kind in ('whatsapp', 'telegram', 'slack', 'discord', 'sms', 'voice', 'email', 'mcp', 'web')),
  smith_id text,
  agent_id text,
  -- The other side, in the words of its channel.
  address text,
  provider text,
  -- Settings that are no secrets, in the words of the kind.
  provider_metadata jsonb not null,
  -- A JSON object; the names of its members are told, their values never.
  sealed_secrets text,
  secret_keys text[] not null,
  status text not null check (status in ('pending', 'active', 'disconnected')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id),
  constraint deployments_one_target check (num_nonnulls(smith_id, agent_id) = 1)
);
create index deployments_listed on deployments (project_id, id collate "C");
create index deployments_of_smith on deployments (project_id, smith_id, id collate "C") where smith_id is not null;
create index deployments_of_agent on deployments (project_id, agent_id) where agent_id is not null;
-- Visitors of a page bring its id and no project.
create unique index deployments_of_visitors on deployments (id) where kind = 'web';
