-- What the registry had of a name before anything was sent for its order: src/domains/orders/baseline.ts.
alter table domains.orders add column baseline jsonb;
-- Something may have been sent for these already.
update domains.orders set baseline = jsonb_build_object('kind', 'unknown', 'at', created_at)
  where kind in ('registration', 'transfer') and state in ('submitted', 'pending');

-- Names that are with our registrar account and in no portfolio.
create table domains.unassigned_names (
  name text primary key,
  -- The registry's id of the object.
  registry_id text not null,
  -- As the registry had it when it was found.
  expires_at timestamptz not null,
  found_at timestamptz not null,
  -- The order that came upon it.
  order_id text not null
);
