-- A queue whose oldest message cannot be read, nor removed: src/domains/orders/unreadable-queues.ts. Null: it can.
alter table domains.registry_duties
  add column problem text,
  add column problem_since timestamptz;

-- The same message under other ids: the registry has queued it several times.
alter table domains.unknown_messages
  add column further_ids text[] not null default '{}';
update domains.unknown_messages first
  set further_ids = again.ids
  from (
    select min(number) as number, (array_agg(message_id order by number))[2:] as ids
      from domains.unknown_messages
      group by registry, queued_at, name, text
      having count(*) > 1
  ) again
  where first.number = again.number;
delete from domains.unknown_messages again
  using domains.unknown_messages first
  where first.number < again.number and first.registry = again.registry and first.queued_at = again.queued_at
    and first.name = again.name and first.text = again.text;
create unique index unknown_messages_once_a_text
  on domains.unknown_messages (registry, queued_at, md5(name || chr(10) || text));
