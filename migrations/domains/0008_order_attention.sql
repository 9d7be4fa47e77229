-- Orders whose end the registry does not tell for too long: src/domains/orders/attention.ts.
alter table domains.orders
  add column attention_since timestamptz,
  add column attention_reason text,
  -- What the operator gave as the reason for ending it by hand.
  add column settled_by_hand text;
create index orders_needing_attention on domains.orders (attention_since)
  where attention_since is not null and state not in ('completed', 'failed');
