-- Whether registrants have confirmed their e-mail addresses: src/domains/verifications/verification.ts.
create table domains.registrant_verifications (
  workspace_id text primary key references domains.workspaces,
  -- Who was asked: a registrant who changes any of these is another one.
  name text not null,
  organization text,
  email text not null,
  asked_at timestamptz not null,
  -- When names are suspended. Null: no message has left yet.
  suspend_at timestamptz,
  mailed_at timestamptz,
  -- When a message is sent next, or whether that succeeded is looked at.
  mail_look_at timestamptz,
  -- Of the message that is on its way: sent again it has the same.
  message_id text,
  mail_problem text,
  -- Messages that were asked for in the hour from then on.
  requests_since timestamptz,
  requests integer not null default 0,
  verified_at timestamptz,
  verified_by text check (verified_by in ('link', 'operator')),
  verified_reason text,
  check ((verified_at is null) = (verified_by is null))
);
create index registrant_verifications_to_mail on domains.registrant_verifications (mail_look_at)
  where verified_at is null and mail_look_at is not null;
create index registrant_verifications_overdue on domains.registrant_verifications (suspend_at) where verified_at is null;

create table domains.registrant_links (
  workspace_id text not null references domains.registrant_verifications on delete cascade,
  -- SHA-256 of the code in the link, which is random and long: the code is kept nowhere.
  code_hash bytea not null unique,
  expires_at timestamptz not null,
  primary key (workspace_id, code_hash)
);

-- Why names are out of the DNS (clientHold), and what the registry has been told of it: src/domains/holds/hold.ts.
alter table domains.domains
  -- Since when the name has the registrant that it has.
  add column registrant_since timestamptz,
  -- When that one was asked to confirm the address for it.
  add column registrant_asked_at timestamptz,
  -- A reason to be out of the DNS beside suspended_at: its registrant has not confirmed the address in time.
  add column unverified_at timestamptz,
  -- The owner has been told of that.
  add column unverified_told boolean not null default false,
  -- The registry has it out of the DNS, at our wish.
  add column held_at timestamptz,
  -- When the registry is told what is wanted now.
  add column hold_look_at timestamptz,
  add column hold_problem text,
  -- Nobody else tells it until then.
  add column hold_lease_until timestamptz;
update domains.domains set registrant_since = created_at, held_at = suspended_at;
alter table domains.domains
  alter column registrant_since set default now(),
  alter column registrant_since set not null;

create index domains_registrants_to_ask on domains.domains ((substring(name from position('.' in name) + 1)), registrant_since)
  where state = 'active' and registrant_asked_at is null;
create index domains_unverified on domains.domains (workspace_id) where unverified_at is not null;
create index domains_holds_to_settle on domains.domains (hold_look_at) where state = 'active' and hold_look_at is not null;

-- Changes of registrants that wait for the consent of the present and the next one: src/domains/registrant-changes/registrant-change.ts.
create table domains.registrant_changes (
  workspace_id text primary key references domains.workspaces,
  -- Another one for each change.
  id text not null,
  name text not null,
  organization text,
  email text not null,
  email_key text not null,
  -- Transfers are locked for a while afterwards, unless the registrant does not want that.
  locks_transfers boolean not null,
  asked_at timestamptz not null,
  expires_at timestamptz not null,
  -- SHA-256 of the codes in the last links.
  present_code_hash bytea unique,
  next_code_hash bytea unique,
  present_consented_at timestamptz,
  next_consented_at timestamptz,
  -- Changes that were asked for in the hour from then on.
  requests_since timestamptz,
  requests integer not null,
  -- It was made, taken back or replaced.
  ended_at timestamptz
);

-- Until when a name stays locked against transfers after a change of its registrant.
alter table domains.domains add column transfer_locked_until timestamptz;
