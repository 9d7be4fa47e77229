-- The OAuth authorization server: who asks, what was consented to, and what it was given. docs/decisions/0023-authorization-server.md

-- Clients that registered themselves (RFC 7591). They stand above the projects: a consent says what each may reach.
create table oauth_clients (
  id text primary key,
  -- As authorization-server/client.ts has it.
  metadata jsonb not null,
  -- SHA-256; null: it has none.
  secret_hash text,
  created_at timestamptz not null default now(),
  -- Of the first consent. Without one it is removed after a day.
  used_at timestamptz
);
create index oauth_clients_unused on oauth_clients (created_at) where used_at is null;

-- From the address that a client sends a browser to, to the token that it gets for the code.
create table oauth_requests (
  id text primary key,
  client_id text not null,
  client_name text not null,
  redirect_uri text not null,
  scopes text[] not null,
  state text,
  nonce text,
  code_challenge text not null,
  -- Of a connector: the deployment whose MCP server it is for. Of an app: the project that it was let into.
  project_id text,
  deployment_id text,
  status text not null check (status in ('pending', 'approved', 'denied', 'redeemed')),
  -- Whom a connector speaks to.
  smith_id text,
  -- Who consented.
  actor jsonb,
  -- SHA-256; from the consent on.
  code_hash text,
  code_expires_at timestamptz,
  -- What the code was redeemed for.
  token_id text,
  created_at timestamptz not null default now(),
  -- Until then it waits for its consent.
  expires_at timestamptz not null
);
create unique index oauth_requests_by_code on oauth_requests (code_hash) where code_hash is not null;
create index oauth_requests_by_age on oauth_requests (created_at);

alter table tokens
  -- The client that holds it; null: it was minted.
  add column client_id text,
  -- The one deployment whose MCP server takes it; null: all that its smith may speak to.
  add column deployment_id text;

-- The refresh tokens of a token are its family. Spent ones stay until they end, so that one which comes back is known.
create table oauth_refresh_tokens (
  project_id text not null,
  -- SHA-256.
  hash text not null,
  token_id text not null,
  expires_at timestamptz not null,
  spent_at timestamptz,
  -- How often it was taken.
  uses int not null default 0,
  primary key (project_id, hash),
  foreign key (project_id, token_id) references tokens (project_id, id)
);
-- Not by project: a refresh token comes without one.
create unique index oauth_refresh_tokens_by_hash on oauth_refresh_tokens (hash);
create index oauth_refresh_tokens_by_end on oauth_refresh_tokens (expires_at);

-- Assertions of clients that were taken: each counts once.
create table oauth_assertions (
  client_id text not null,
  -- SHA-256 of its `jti`.
  jti_hash text not null,
  expires_at timestamptz not null,
  primary key (client_id, jti_hash)
);
create index oauth_assertions_by_end on oauth_assertions (expires_at);
