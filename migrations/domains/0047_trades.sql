-- Another holder at a registry where that is a command of its own with a price: src/domains/trades.
alter table domains.orders drop constraint orders_kind_check;
alter table domains.orders add constraint orders_kind_check
  check (kind in ('registration', 'renewal', 'transfer', 'restoration', 'trade'));
create unique index orders_one_live_trade on domains.orders (workspace_id, domain_id)
  where kind = 'trade' and state not in ('completed', 'failed');
alter table domains.orders
  -- Of a trade: who is to hold the name, as the registrant was when it was bought.
  add column holder jsonb,
  -- For how long transfers are locked afterwards.
  add column lock_days integer check (lock_days >= 0),
  add constraint orders_holder_of_a_trade
    check ((kind = 'trade') = (holder is not null) and (kind = 'trade') = (lock_days is not null));

-- The simulated registry: the present or last trade of a name, and what it costs.
alter table domains.registry_domains add column trade jsonb;
alter table domains.registry_charges drop constraint registry_charges_kind_check;
alter table domains.registry_charges add constraint registry_charges_kind_check
  check (kind in ('create', 'renew', 'auto_renew', 'transfer', 'restore', 'trade'));
