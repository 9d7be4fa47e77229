-- Names that their owners have deleted, and what that gives back: src/domains/restorations, src/domains/deletions.
alter table domains.orders drop constraint orders_kind_check;
alter table domains.orders add constraint orders_kind_check
  check (kind in ('registration', 'renewal', 'transfer', 'restoration'));
create unique index orders_one_live_restoration on domains.orders (workspace_id, domain_id)
  where kind = 'restoration' and state not in ('completed', 'failed');

alter table domains.domains
  -- When the name entered its redemption period, as far as we know. Null: it is not in it.
  add column redemption_since timestamptz,
  -- Until when its registry takes its registration back, and what we keep of what it cost. Null: it does not.
  add column add_grace_until timestamptz,
  add column add_grace_fee_cents bigint;

-- The simulated registry: restored, as far as the report goes that it may want.
alter table domains.registry_domains drop constraint registry_domains_phase_check;
alter table domains.registry_domains add constraint registry_domains_phase_check
  check (phase in ('creating', 'active', 'expired', 'redemption', 'pendingRestore', 'pendingDelete'));
