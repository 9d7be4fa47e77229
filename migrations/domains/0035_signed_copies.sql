-- When the serial of a signed zone last grew for its signatures alone: src/domains/dns/dnssec/renew-serials.ts.
alter table domains.zones add column serial_renewed_at timestamptz;
