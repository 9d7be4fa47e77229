-- What our accounts at registries may still spend: src/domains/balances.
create table domains.registry_balances (
  -- As the configuration calls it.
  registry text primary key,
  -- In the registry's currency. Null: it has not told.
  available_cents bigint,
  -- ISO 4217. Null: it does not say.
  currency text,
  observed_at timestamptz,
  -- When it last refused a command for want of credit (2104), if that is later than what was observed.
  refused_at timestamptz,
  -- When it is asked next.
  look_at timestamptz not null
);
