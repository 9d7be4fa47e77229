-- Messages of registries that nothing follows from, until an operator has seen to them: src/domains/orders/unknown-messages.ts.
create table domains.unknown_messages (
  number bigint generated always as identity primary key,
  -- The registry's.
  message_id text not null,
  queued_at timestamptz not null,
  received_at timestamptz not null,
  -- Empty where it is about no name.
  name text not null,
  text text not null
);
create unique index unknown_messages_once on domains.unknown_messages (message_id, queued_at);
