-- Registrants who let the registrar consent to changes of the registrant for them: src/domains/registrant-changes/designated-agent.ts.
create table domains.designated_agents (
  workspace_id text primary key references domains.workspaces,
  -- Another one each time that it is asked for.
  id text not null,
  -- Whom the link was mailed to: of another address it says nothing.
  email_key text not null,
  asked_at timestamptz not null,
  expires_at timestamptz not null,
  -- SHA-256 of the code in the last link.
  code_hash bytea unique,
  given_at timestamptz,
  withdrawn_at timestamptz,
  -- Messages that were asked for, and changes that were made, in the hour from then on.
  requests_since timestamptz,
  requests integer not null
);
