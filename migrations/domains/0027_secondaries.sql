-- Nameservers that copy zones are told of changes: src/domains/dns/embedded/transfer/notifier.ts.
alter table domains.zones
  -- Follows version: what all secondaries have acknowledged, or will find by themselves.
  add column notified_version bigint not null default 0,
  -- When they may be told next. Null: at once.
  add column notify_due_at timestamptz,
  add column notify_attempts integer not null default 0;

create index zones_to_notify on domains.zones (notify_due_at nulls first)
  where notified_version < version and not is_closed and not is_withdrawn;
