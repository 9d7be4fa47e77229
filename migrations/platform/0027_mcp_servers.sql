-- Registered MCP servers, and the lists of tools that they gave.

create table mcp_servers (
  project_id text not null references projects (id),
  id text not null,
  name text not null,
  url text not null,
  catalog_slug text,
  auth_kind text not null check (auth_kind in ('none', 'bearer', 'oauth')),
  auth_provider text,
  auth_client_mode text not null check (auth_client_mode in ('none', 'auto', 'registered', 'dynamic', 'metadata_document')),
  sealed_secret text,
  -- Null: every tool.
  tool_allowlist text[],
  -- Rules in order: match, require.
  approval_policy jsonb not null,
  -- Counts the registrations that differ in any of the above. What a call was approved for names it.
  revision int not null default 1,
  status text not null default 'pending' check (status in ('pending', 'ready', 'auth_required', 'unreachable', 'failed')),
  discovery_error text,
  -- The list of tools that turns begin with: a hash of mcp_tool_lists. Null: none has come yet.
  tools_hash text,
  tools_refreshed_at timestamptz,
  -- Which protocol the server speaks, as the client found it, and by which transport: spares the next connection the question.
  protocol jsonb,
  protocol_found_at timestamptz,
  last_call_error text,
  last_call_error_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
-- By which turns find the servers of their project.
create unique index mcp_servers_by_name on mcp_servers (project_id, name);
create index mcp_servers_listed on mcp_servers (project_id, id collate "C");

-- Lists never change: a turn has the one that it began with to its end.
create table mcp_tool_lists (
  project_id text not null,
  server_id text not null,
  hash text not null,
  tools jsonb not null,
  tool_count int not null,
  -- When another took its place; it goes an hour later, once no open run has it.
  replaced_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (project_id, server_id, hash)
);
create index mcp_tool_lists_replaced on mcp_tool_lists (replaced_at) where replaced_at is not null;

-- What open runs have of these lists.
create index runs_with_mcp on runs (project_id, id)
  where status in ('in_progress', 'paused') and config ? 'mcp';
