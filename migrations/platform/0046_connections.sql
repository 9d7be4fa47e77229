-- Accounts that users have connected to smiths, and the OAuth clients by which they are.

-- Clients that tenants have registered at providers.
create table oauth_providers (
  project_id text not null references projects (id),
  provider text not null,
  client_id text not null,
  -- The secret is sealed for its own id, so that it can be carried to where a token is revoked with it.
  secret_id text,
  sealed_client_secret text,
  scopes_allowed text[] not null,
  issuer text,
  authorization_endpoint text not null,
  token_endpoint text not null,
  revocation_endpoint text,
  token_endpoint_auth_method text not null
    check (token_endpoint_auth_method in ('none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  -- The issuer says that it names itself in what it answers to the browser (RFC 9207).
  names_itself boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, provider)
);

-- Whose accounts an MCP server takes, as it was found last, and the client that was registered there.
create table mcp_issuers (
  project_id text not null,
  server_id text not null,
  issuer text not null,
  -- Null: nothing was registered.
  client_id text,
  secret_id text,
  sealed_client_secret text,
  secret_expires_at timestamptz,
  token_endpoint_auth_method text,
  redirect_uri text,
  found_at timestamptz not null default now(),
  primary key (project_id, server_id)
);

create table connections (
  project_id text not null references projects (id),
  id text not null,
  smith_id text not null,
  -- A provider's name, or mcp:<name> of a server.
  provider text not null,
  -- Of mcp:<name>.
  server_id text,
  status text not null check (status in ('active', 'expired', 'disabled')),
  scopes text[] not null,
  metadata jsonb not null,
  -- Another one with each credential, which is sealed for it.
  credential_id text not null,
  sealed_credential text not null,
  has_refresh_token boolean not null,
  credential_at timestamptz not null default now(),
  expires_at timestamptz,
  -- Whose credential it is, and where it is sent: nowhere else. What it was asked for by, which refreshes name too.
  issuer text,
  server_url text,
  resource text,
  token_endpoint text,
  revocation_endpoint text,
  -- The client that got it: of a saved provider, registered at the issuer, or our metadata document. Null: it cannot be refreshed.
  client_kind text check (client_kind in ('provider', 'dynamic', 'metadata_document')),
  client_provider text,
  client_id text,
  -- When the user was asked.
  granted_at timestamptz not null default now(),
  -- Whether its refresh tokens work once; null: not known yet.
  works_once boolean,
  -- A refresh that is under way, and until when it can be.
  refresh_id text,
  refresh_until timestamptz,
  -- After an attempt that came to nothing.
  refresh_again_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
create unique index connections_one_a_provider on connections (project_id, smith_id, provider);
create index connections_listed on connections (project_id, smith_id, id collate "C");
create index connections_of_provider on connections (project_id, provider);
create index connections_of_client on connections (project_id, client_provider) where client_provider is not null;

-- Links that users have been given to connect an account, until they come back.
create table connection_links (
  project_id text not null,
  -- Of the state that comes back.
  state_hash text not null,
  smith_id text not null,
  provider text not null,
  server_id text,
  sealed_verifier text not null,
  -- Where the code is taken, by which client, and what was asked for.
  target jsonb not null,
  return_url text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (project_id, state_hash)
);
create index connection_links_of_smith on connection_links (project_id, smith_id, created_at);
create index connection_links_expired on connection_links (expires_at);

-- Credentials that are erased here and still to be revoked where they come from.
create table connection_revocations (
  project_id text not null,
  credential_id text not null,
  sealed_credential text not null,
  revocation_endpoint text not null,
  client_kind text not null,
  client_provider text,
  client_id text not null,
  token_endpoint_auth_method text not null,
  issuer text,
  secret_id text,
  sealed_client_secret text,
  created_at timestamptz not null default now(),
  primary key (project_id, credential_id)
);
create index connection_revocations_old on connection_revocations (created_at);

-- Since when a server stands where it does: what a user has connected before is not sent there.
alter table mcp_servers add column address_since timestamptz not null default now();
