-- The feed is append-only, whoever asks: the database refuses to change or remove an event. The number of the transaction
-- that wrote it is not part of the event, and is given anew after a restore.
create function refuse_feed_change() returns trigger language plpgsql as $$
begin
  raise exception 'the feed is append-only: % of % is refused', tg_op, tg_table_name using errcode = 'restrict_violation';
end
$$;
create trigger events_append_only
  before update of project_id, id, type, smith_id, actor, data, created_at or delete or truncate on events
  for each statement execute function refuse_feed_change();

-- The chain of a project's events: the hash of each event and of the link before it. Written behind the writers of events,
-- by one replica at a time.
create table event_links (
  project_id text not null,
  -- From 1, without a gap.
  position bigint not null,
  event_id text not null,
  -- SHA-256.
  hash bytea not null check (length(hash) = 32),
  primary key (project_id, position)
);
create unique index event_links_by_event on event_links (project_id, event_id);
create trigger event_links_append_only
  before update or delete or truncate on event_links
  for each statement execute function refuse_feed_change();

-- The chain begins with the first event.
insert into feed_followers (name, cursor) values ('chain', '0/');
