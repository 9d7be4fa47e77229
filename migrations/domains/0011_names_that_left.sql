-- When a name was last ours, for whoever remembers what the registry said of it: src/domains/resources/availability/look-up-names.ts.
create index domains_that_left on domains.domains (name, gone_at) where state = 'gone';
