-- Items of conversations: what was removed of a row, and which conversations wait to be purged.

-- The row's role as it was written, and its parts that were removed since: {role, parts: [{index, type, call_id?}]}. Null
-- where nothing was. Keeps the ids and places of the other items.
alter table messages add column removed jsonb;

create index conversations_deleted on conversations (deleted_at) where deleted_at is not null;
