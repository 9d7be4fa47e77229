-- What all processes together send to a registry that takes so many commands: src/domains/registry/turns.
create table domains.registry_allowances (
  -- As the configuration calls it.
  registry text primary key,
  -- Commands by slices of time, counted from 1970.
  commands jsonb not null,
  -- Processes that wait for a turn: the best place that each has in the line, and until when that counts.
  waiting jsonb not null
);

-- What one process at a time does at a registry: src/domains/registry/duties.ts.
create table domains.registry_duties (
  registry text not null,
  -- 'messages' or 'names'.
  duty text not null,
  -- Null: no process has it.
  lease_until timestamptz,
  -- When it is done next.
  due_at timestamptz not null,
  -- Times in a row that there was nothing to do.
  idle_count integer not null default 0,
  primary key (registry, duty)
);
