-- The transaction that wrote an event: followers of the feed read in this order, and only below the oldest transaction
-- that is still open, so that none commits behind them.
alter table events add column written_by xid8 not null default pg_current_xact_id();
-- Not by project: whoever delivers follows all projects at once.
create index events_by_transaction on events (written_by, id);
