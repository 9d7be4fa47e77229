-- A run's segments: from its start, or from what answered a pause, to where it next rests.

alter table runs
  -- How the run stood at each pause that it has left, in order: engine/store/left-pauses.ts has the members.
  add column pauses jsonb not null default '[]';

-- Of pauses before this column: where they were, and what was used by then.
update runs set pauses = left_pauses.pauses
from (
  select frame.project_id, frame.run_id, jsonb_agg(jsonb_build_object(
    'seq', frame.seq, 'at', frame.created_at, 'input_tokens', frame.data -> 'usage' -> 'input_tokens',
    'output_tokens', frame.data -> 'usage' -> 'output_tokens', 'cost_micros', null, 'warnings', 0, 'content', '',
    'annotations', null, 'calls', 0, 'open', '{}'::jsonb) order by frame.seq) as pauses
  from (
    select event.*, row_number() over (partition by event.project_id, event.run_id order by event.seq desc) as from_last,
      run.status
    from run_events event join runs run on run.project_id = event.project_id and run.id = event.run_id
    where event.type = 'run.paused'
  ) frame
  -- The pause that the run is in has not been left.
  where not (frame.status = 'paused' and frame.from_last = 1)
  group by frame.project_id, frame.run_id
) left_pauses
where runs.project_id = left_pauses.project_id and runs.id = left_pauses.run_id;

-- Each request of a turn says which segment it began.
update runs set requests = numbered.requests
from (
  select run.project_id, run.id, jsonb_agg(
    jsonb_build_object('segment', coalesce(request -> 'stretch', to_jsonb(place))) || (request - 'stretch') order by place
  ) as requests
  from runs run, jsonb_array_elements(run.requests) with ordinality as each (request, place)
  group by run.project_id, run.id
) numbered
where runs.project_id = numbered.project_id and runs.id = numbered.id;

alter table idempotency_keys
  -- The segment of the run that the request with the key began.
  add column segment int not null default 1,
  -- Answered as soon as that had begun.
  add column at_once boolean not null default false,
  -- How the run stood when the request was answered, where that was neither at once nor when the segment was over.
  add column answered jsonb;

-- Whoever brings results looks for the run that waits for them.
create index runs_paused on runs (project_id, smith_id, id) where status = 'paused';
