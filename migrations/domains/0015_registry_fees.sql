-- Names with a price of their own (RFC 8748): src/domains/prices/quote.ts.
alter table domains.orders
  -- What the registry asked when the order was placed, and is told with its command: {currency, cents}. Null: it does not say.
  add column registry_fee jsonb;

alter table domains.domains
  -- What the registry asks for the renewal that auto-renew buys: {currency, cents, years}. Null: the ordinary price.
  add column renewal_fee jsonb;
