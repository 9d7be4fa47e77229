-- Deletions whose callers were answered before the registry was: src/domains/deletions/delete-name.ts.
alter table domains.domains
  -- When its owner asked for its deletion; null once the registry has taken or refused it.
  add column deletion_wanted_at timestamptz,
  -- When it is sent again.
  add column deletion_look_at timestamptz;
create index domains_to_delete on domains.domains (deletion_look_at) where deletion_look_at is not null;
