-- Messages whose registry did not answer about their name when they were read, until it has: src/domains/orders/deferred-messages.ts.
create table domains.deferred_messages (
  -- As the configuration calls it.
  registry text not null,
  -- The registry's.
  message_id text not null,
  queued_at timestamptz not null,
  kind text not null,
  name text not null,
  text text not null,
  application_id text,
  received_at timestamptz not null,
  look_at timestamptz not null,
  primary key (registry, message_id, queued_at)
);
