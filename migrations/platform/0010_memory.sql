-- What a smith keeps besides its threads, and what recall searches.

create table smith_memories (
  project_id text not null,
  smith_id text not null,
  -- Working memory: in the prompt of every turn.
  content text not null default '',
  -- Somebody recalls: turns are indexed as they end.
  recalls boolean not null default false,
  updated_at timestamptz not null default now(),
  primary key (project_id, smith_id),
  foreign key (project_id, smith_id) references smiths (project_id, id)
);

-- Passages of what was said, by meaning. One smith has thousands at most, so a search looks at each of them.
create table recall_passages (
  project_id text not null,
  smith_id text not null,
  thread_id text not null,
  turn int not null,
  position int not null,
  run_id text,
  text text not null,
  embedding vector not null,
  primary key (project_id, smith_id, thread_id, turn, position)
);

-- The turn up to which the thread's passages are there.
alter table threads add column recalled_turn int not null default 0;
