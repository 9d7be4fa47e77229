-- What registries refuse orders with: src/domains/orders/order.ts.
alter table domains.orders
  -- The registry's own words of its last refusal, for the operator alone.
  add column registry_said text,
  -- It goes on once our account at the registry has credit again.
  add column waits_for_credit boolean not null default false;
create index orders_waiting_for_credit on domains.orders (next_look_at)
  where waits_for_credit and state not in ('completed', 'failed');
