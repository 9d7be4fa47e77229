-- How far switching DNSSEC on or off has come: src/domains/dns/dnssec/advance-dnssec.ts draws it.
alter table domains.zones
  -- Since DNSSEC was last off, the registry was handed DS records, or may have been.
  add column ds_handed_at timestamptz,
  -- The registry took an update of the DS records, and had not finished it.
  add column ds_pending_since timestamptz,
  -- While disabling: since when the registry has shown no DS record.
  add column ds_removed_at timestamptz,
  -- Why the registry refused the DS records; kept until the next request.
  add column dnssec_refusal text,
  -- What kept the last step from being taken; it is tried again.
  add column dnssec_failure text,
  add column dnssec_attempts integer not null default 0,
  -- The earliest next look; null: at once.
  add column dnssec_next_look_at timestamptz,
  -- Set while a process works on it; another takes over when it lapses.
  add column dnssec_lease_until timestamptz;
create index zones_dnssec_to_look_at on domains.zones (dnssec_next_look_at) where dnssec in ('enabling', 'disabling');
