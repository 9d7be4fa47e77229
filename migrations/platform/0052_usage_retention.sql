-- Entries of usage are removed once they are old.

create index usage_entries_by_age on usage_entries (created_at);
