-- Deposits with a data escrow agent are compared with the one before, name by name: src/command-line/domains/escrow.ts.
create index domains_in_order on domains.domains (name collate "C") where state = 'active';
