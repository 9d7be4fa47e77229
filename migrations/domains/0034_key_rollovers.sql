-- How far a new key of a signed zone has come: src/domains/dns/dnssec/roll-key.ts draws it.
alter table domains.zones
  add column roll_state text check (roll_state in ('signing', 'parent', 'retiring')),
  -- Since when what the state waits for has been so; null: it is not yet.
  add column roll_step_at timestamptz,
  -- DS records of the new key; ds_records has those of the present one until it is gone.
  add column roll_ds_records jsonb not null default '[]',
  -- When the present key came by a rollover; null: it is as old as ds_handed_at.
  add column key_since timestamptz;
create index zones_rolling on domains.zones (dnssec_next_look_at) where roll_state is not null;
