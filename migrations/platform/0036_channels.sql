-- Messaging channels: what people write there, the turns that it begins, and their answers. docs/decisions/0021-channels.md

alter table deployments
  -- Whose account it is reached through, where the deployment itself says so (a number); empty: the project's of the kind.
  add column account_id text not null default '',
  -- While it is pending: whoever writes this is bound.
  add column start_token_hash text,
  add column start_token_expires_at timestamptz;
create unique index deployments_one_address on deployments (project_id, kind, account_id, address) where address is not null;
create unique index deployments_one_catch_all on deployments (project_id, kind, account_id)
  where agent_id is not null and address is null and kind not in ('mcp', 'web');
create unique index deployments_by_start_token on deployments (project_id, kind, start_token_hash)
  where start_token_hash is not null;

-- The account that a project has of a kind: its bot, its number.
create table channel_accounts (
  project_id text not null references projects (id),
  kind text not null check (kind in ('telegram', 'whatsapp', 'discord', 'slack', 'sms', 'email')),
  -- In the words of the provider.
  account_id text not null,
  settings jsonb not null,
  sealed_secrets text not null,
  secret_keys text[] not null,
  -- SHA-256 of what the provider is to send with each call, where it does not sign.
  webhook_key_hash text,
  -- What it was last refused: {code, message, at}.
  last_error jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, kind)
);
-- Not by project: the provider sends one account's messages to one place.
create unique index channel_accounts_one_project on channel_accounts (kind, account_id);

-- What came in, each message of a provider once.
create table inbound_events (
  project_id text not null references projects (id),
  id text not null,
  -- The kind of deployment.
  source text not null,
  account_id text not null,
  type text not null,
  subject text not null,
  idempotency_key text not null,
  -- As the provider sent it, without credentials.
  data jsonb not null,
  smith_id text,
  deployment_id text,
  -- Where it waits and when it came there; null: it begins no turn.
  chat_id text,
  position bigint,
  thread_id text,
  -- What the turn is told: {text, attachments, group}. Null once it has begun.
  message jsonb,
  -- What the answer needs and nobody may read.
  sealed_reply text,
  state text not null check (state in ('waiting', 'started', 'ignored', 'failed')),
  run_id text,
  -- Why no turn began: {code, message}.
  error jsonb,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create unique index inbound_events_once on inbound_events (project_id, source, account_id, idempotency_key);
create index inbound_events_by_source on inbound_events (project_id, source, id);
create index inbound_events_by_smith on inbound_events (project_id, smith_id, id);
create index inbound_events_waiting on inbound_events (project_id, chat_id, position) where state = 'waiting';
-- Not by project: what is old goes in all projects together.
create index inbound_events_by_age on inbound_events (created_at) where state <> 'waiting';

-- Conversations. The messages of one begin turns in order: what is claimed is the conversation.
create table channel_chats (
  project_id text not null,
  id text not null,
  deployment_id text not null,
  account_id text not null,
  -- Where answers go, and who writes there, in the words of the provider.
  chat text not null,
  sender text not null,
  smith_id text not null,
  -- Of the next message.
  thread_id text not null,
  -- The last position that was given to a message, and the last that needs nothing more.
  received bigint not null default 0,
  settled bigint not null default 0,
  -- Everything up to here is to be stopped.
  stop_at bigint,
  -- Null: nothing waits. While a turn is being begun: when the claim counts as lost.
  next_attempt_at timestamptz,
  -- In a row: attempts that found the smith busy or the project full, and those that failed for no reason of the message's.
  waits integer not null default 0,
  failures integer not null default 0,
  -- Claims that nobody has settled, this one included.
  claims integer not null default 0,
  created_at timestamptz not null default now(),
  primary key (project_id, id),
  foreign key (project_id, deployment_id) references deployments (project_id, id) on delete cascade
);
create unique index channel_chats_once on channel_chats (project_id, deployment_id, account_id, chat, sender);
create index channel_chats_due on channel_chats (project_id, next_attempt_at) where next_attempt_at is not null;
create index channel_chats_of_smith on channel_chats (project_id, smith_id) where next_attempt_at is not null;

-- What is to be said: the answer of a turn, or a sentence of the channel's own.
create table channel_answers (
  project_id text not null,
  id text not null,
  chat_id text not null,
  -- Of the last message that it answers. Answers leave in this order.
  position bigint not null,
  run_id text,
  sentence text,
  sealed_reply text,
  -- open: there is more to plan, once the run rests. planned: its parts are being sent.
  state text not null check (state in ('open', 'planned', 'sent', 'failed')),
  -- Segments of the run whose text is planned.
  segments integer not null default 0,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  primary key (project_id, id),
  foreign key (project_id, chat_id) references channel_chats (project_id, id) on delete cascade,
  constraint channel_answers_one_source check (num_nonnulls(run_id, sentence) = 1)
);
create unique index channel_answers_of_runs on channel_answers (project_id, run_id) where run_id is not null;
create index channel_answers_of_chats on channel_answers (project_id, chat_id);
create index channel_answers_open on channel_answers (project_id, chat_id, position) where state = 'open';
-- Not by project: what is old goes in all projects together.
create index channel_answers_settled on channel_answers (settled_at) where settled_at is not null;

-- Where messages are sent: those of one place leave in order, one after the other.
create table channel_outboxes (
  project_id text not null references projects (id),
  id text not null,
  kind text not null,
  account_id text not null,
  chat text not null,
  -- The last number that was given to a part.
  planned bigint not null default 0,
  -- Before this nothing is sent: the provider's pace, or what it asked for.
  free_at timestamptz,
  -- Null: nothing waits. While a part is being sent: when the claim counts as lost.
  next_attempt_at timestamptz,
  primary key (project_id, id)
);
create unique index channel_outboxes_once on channel_outboxes (project_id, kind, account_id, chat);
create index channel_outboxes_due on channel_outboxes (project_id, next_attempt_at) where next_attempt_at is not null;

-- The messages that an answer becomes. A row is there before it is sent, and says so before the provider is called.
create table channel_parts (
  project_id text not null,
  answer_id text not null,
  position integer not null,
  outbox_id text not null,
  -- Its place in the outbox.
  number bigint not null,
  body jsonb not null,
  -- The provider could not read its markup.
  as_plain boolean not null default false,
  state text not null check (state in ('waiting', 'sending', 'sent', 'failed')),
  attempts integer not null default 0,
  -- Times that a replica died while it was being sent.
  losses integer not null default 0,
  -- Since when it may have arrived; null: it has not.
  sending_since timestamptz,
  provider_message_id text,
  error jsonb,
  created_at timestamptz not null default now(),
  primary key (project_id, answer_id, position),
  foreign key (project_id, answer_id) references channel_answers (project_id, id) on delete cascade
);
create index channel_parts_waiting on channel_parts (project_id, outbox_id, number) where state in ('waiting', 'sending');

-- When an account may send next, over all replicas.
create table channel_buckets (
  project_id text not null references projects (id),
  kind text not null,
  account_id text not null,
  free_at timestamptz not null,
  primary key (project_id, kind, account_id)
);

-- How many wrong start tokens a sender has tried in the hour that it last tried one.
create table channel_guesses (
  project_id text not null references projects (id),
  kind text not null,
  account_id text not null,
  sender text not null,
  hour timestamptz not null,
  wrong integer not null,
  primary key (project_id, kind, account_id, sender)
);
create index channel_guesses_by_hour on channel_guesses (hour);
