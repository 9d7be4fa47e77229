-- Turns that were under way when their process ended abruptly: docs/decisions/0012-abrupt-ends.md.

alter table runs
  -- The replicas that ended abruptly while they executed the turn, since it last completed a step. Null: none.
  add column interrupted_by text[],
  -- How many steps were complete when the turn was last taken over from such a replica.
  add column progress_mark int,
  -- The attempt at which no other suspect was executed beside this one, while it shows no sign of life.
  add column trial_attempt int;

alter table replicas
  -- It stops in order: whatever becomes of it now does not tell against its turns.
  add column leaving boolean not null default false,
  -- A turn was set aside for its end.
  add column explained boolean not null default false;
