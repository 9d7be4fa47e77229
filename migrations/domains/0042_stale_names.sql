-- Names to be read at their registry, which every process looks for each second: src/domains/portfolio/store.ts, listStaleDomains. Each way
-- to be stale has an index; with one that has none all names are read.
create index domains_by_sync on domains.domains (synced_at nulls first) where state = 'active';
create index domains_unreported on domains.domains (synced_at) where state = 'active' and snapshot is null;
