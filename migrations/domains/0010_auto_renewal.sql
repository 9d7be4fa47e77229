-- Registries that renew names by themselves: src/domains/registry/simulated/life-cycle.ts and src/domains/renewals/unpaid-names.ts.
alter table domains.registry_domains
  -- Until then a deletion takes the last automatic renewal back.
  add column auto_renew_until timestamptz;

-- The registry's bill: what its registrars owe for. What is taken back stands as a second row of less than nothing.
create table domains.registry_charges (
  id bigint generated always as identity primary key,
  registrar text not null,
  name text not null,
  kind text not null check (kind in ('create', 'renew', 'auto_renew', 'transfer', 'restore')),
  years integer not null,
  amount_cents integer not null,
  charged_at timestamptz not null
);
create index registry_charges_of_name on domains.registry_charges (name, id);

alter table domains.domains
  -- Since when a name of which nobody has paid for the present term is out of the DNS; noted before the registry is told.
  add column suspended_at timestamptz,
  -- Why the last step towards its deletion did not succeed, and when that was.
  add column unpaid_problem text,
  add column unpaid_tried_at timestamptz;
create index domains_unpaid on domains.domains (billed_until, id) where state = 'active';
create index domains_paid_again on domains.domains (billed_until, id) where suspended_at is not null or unpaid_problem is not null;
