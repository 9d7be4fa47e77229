-- Deposits with a data escrow agent are compared with the one before, name by name: src/command-line/domains/escrow.ts.
create index domains_in_order on domains.domains (name collate "C") where state = 'active';

-- Orders that failed, whose names are looked at again: src/domains/orders/failed-acquisitions.ts.
create index orders_failed_to_look_at on domains.orders (next_look_at) where state = 'failed' and next_look_at is not null;
