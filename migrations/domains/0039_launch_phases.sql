-- Notices of trademark claims as customers were shown them, until they end: src/domains/claims.
create table domains.claims_notices (
  workspace_id text not null references domains.workspaces,
  notice_id text not null,
  name text not null,
  -- What the registry tells of the name, by which the notice was found.
  lookup_key text not null,
  -- It can be accepted until then.
  not_after timestamptz not null,
  -- The marks: [{mark_name, jurisdiction, holders, contacts, classes, goods_and_services, decisions}].
  claims jsonb not null,
  shown_at timestamptz not null,
  primary key (workspace_id, notice_id)
);
create index claims_notices_of_name on domains.claims_notices (workspace_id, name, not_after);
create index claims_notices_that_ended on domains.claims_notices (not_after);

-- Of a registration: the notice that was accepted, when, when that came, and by which token.
alter table domains.orders add column claims_acceptance jsonb;

-- Of a registration in a sunrise, until it ends: the mark that was signed for it, in base64.
alter table domains.orders add column signed_mark text;
-- It is applied for, and the registry may take several of one registrar: one that may have arrived is not sent again.
alter table domains.orders add column is_application boolean not null default false;
-- As the registry calls it; null: it has not said.
alter table domains.orders add column application_id text;
