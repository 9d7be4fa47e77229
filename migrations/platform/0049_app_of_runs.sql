-- Runs remember the app whose token began them.

alter table runs
  -- Not a reference: it outlives the app.
  add column app_id text;
create index runs_by_app on runs (project_id, app_id, id) where app_id is not null;
create index usage_daily_by_app on usage_daily (project_id, app_id, day) where app_id <> '';
