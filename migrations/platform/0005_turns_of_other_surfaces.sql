-- Turns that the OpenAI-compatible surfaces start: what each request asked, to show it again, and conversations.

alter table runs
  -- 'run', 'chat' or 'response'.
  add column surface text not null default 'run',
  -- What each request of the turn said, as its surface echoes it: the first, and one for each that answered a pause.
  add column requests jsonb not null default '[]',
  -- Set where the caller wants it neither kept for retrieval nor listed: `store: false`, or deleted since.
  add column forgotten_at timestamptz;

-- A conversation is the thread of the same id.
create table conversations (
  project_id text not null,
  id text not null,
  smith_id text not null,
  title text,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (project_id, id),
  foreign key (project_id, smith_id) references smiths (project_id, id)
);
create index conversations_live on conversations (project_id, id collate "C") where deleted_at is null;
create index conversations_by_smith on conversations (project_id, smith_id, id collate "C") where deleted_at is null;
