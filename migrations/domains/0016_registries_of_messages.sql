-- Two registries may give messages the same id: src/domains/orders/unknown-messages.ts.
alter table domains.unknown_messages
  -- As the configuration calls it. Empty: the message came before registries were told apart.
  add column registry text not null default '';
create unique index unknown_messages_once_a_registry on domains.unknown_messages (registry, message_id, queued_at);
drop index domains.unknown_messages_once;
