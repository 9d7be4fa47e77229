-- Leases in a row that lapsed because the process that had them ended: src/domains/lapsed-leases.ts.
alter table domains.orders add column lapsed_leases integer not null default 0;
alter table domains.zones add column dnssec_lapsed_leases integer not null default 0;
