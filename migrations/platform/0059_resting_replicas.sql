-- Replicas that hold nothing send no heartbeat.

alter table replicas
  -- The replica holds no turn, no question and no job: it sends no heartbeat until it does, and its silence is no abrupt end. A server of an
  -- earlier version does not read this: until it is replaced, it counts a resting replica as one that ended, which makes it more lenient
  -- with turns that were interrupted, and nothing else.
  add column resting boolean not null default false;
