-- Names are looked at each day. Of many, most are only checked to be there, and some are read: src/domains/daily-look.
alter table domains.domains
  -- When the registry last said that the name is taken.
  add column seen_at timestamptz,
  -- The later of both. Null, as where the name is to be read again: now.
  add column looked_at timestamptz generated always as (case when synced_at is not null then greatest(synced_at, seen_at) end) stored;

-- Each way to be due has an index (due-names.ts), with domains_missing and domains_unreported.
create index domains_by_look on domains.domains (looked_at nulls first) where state = 'active';
drop index domains.domains_by_sync;
