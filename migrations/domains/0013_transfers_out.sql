-- Transfers to other registrars: src/domains/transfers-out/transfer-out.ts.
alter table domains.domains
  -- The present or last one that another registrar has asked for: {requestedBy, requestedAt, actsAt, state, decision, refusal}.
  add column transfer_out jsonb,
  -- Its owner has not been told by mail of what it is now.
  add column transfer_out_untold boolean not null default false,
  -- When the registry is asked about it next.
  add column transfer_out_look_at timestamptz;
create index domains_transferring_out on domains.domains (transfer_out_look_at) where transfer_out_look_at is not null;

-- Zones of names that have left to another registrar: src/domains/dns/delegation/follow-delegations.ts.
alter table domains.zones
  -- When the parent's servers are asked next whether the name is still delegated here.
  add column delegation_look_at timestamptz,
  -- Since when it is not, whenever they were asked.
  add column delegation_moved_at timestamptz,
  add column delegation_ttl_seconds integer,
  -- Kept, and served no more.
  add column is_withdrawn boolean not null default false;
create index zones_to_follow on domains.zones (delegation_look_at) where delegation_look_at is not null;
