-- Orders whose registry was too busy to say what the name costs: it is asked before anything is charged or sent.
alter table domains.orders add column price_unasked boolean not null default false;

-- DNSSEC: what went wrong in the registry's words is the operator's; its owner reads ours.
alter table domains.zones add column dnssec_registry_said text;
update domains.zones set
  dnssec_registry_said = coalesce(dnssec_failure, dnssec_refusal),
  dnssec_failure = case when dnssec_failure is not null then 'A step did not succeed. It is tried again.' end,
  dnssec_refusal = case when dnssec_refusal is not null then 'The registry did not let this name be signed.' end
where dnssec_failure is not null or dnssec_refusal is not null;

-- When a command left for the order last: whether it restored the name, or somebody else did, is told by the registry's dates.
alter table domains.orders add column sent_at timestamptz;
