-- What vector stores hold counts in what a project stores. A deferred trigger, because a project's row of project_storage is
-- the last that a transaction may wait for: all of the project's files and stores wait for it.
create function count_vector_store() returns trigger language plpgsql as $$
declare
  before bigint := case when old.deleted_at is null then old.usage_bytes else 0 end;
  after bigint := 0;
begin
  if tg_op = 'UPDATE' then
    after := case when new.deleted_at is null then new.usage_bytes else 0 end;
  end if;
  if after > before then
    insert into project_storage (project_id, used_bytes) values (old.project_id, after - before)
    on conflict (project_id) do update set used_bytes = project_storage.used_bytes + excluded.used_bytes;
  else
    update project_storage set used_bytes = greatest(used_bytes + after - before, 0) where project_id = old.project_id;
  end if;
  return null;
end
$$;

create constraint trigger vector_store_storage_changed after update of usage_bytes, deleted_at on vector_stores
  deferrable initially deferred for each row
  when (old.usage_bytes is distinct from new.usage_bytes or old.deleted_at is distinct from new.deleted_at)
  execute function count_vector_store();
create constraint trigger vector_store_storage_removed after delete on vector_stores
  deferrable initially deferred for each row
  when (old.deleted_at is null and old.usage_bytes > 0)
  execute function count_vector_store();

-- Nobody may index or remove a file between the count and the end of this transaction.
lock table vector_stores in share row exclusive mode;
insert into project_storage (project_id, used_bytes)
select project_id, sum(usage_bytes) from vector_stores where deleted_at is null and usage_bytes > 0 group by project_id
on conflict (project_id) do update set used_bytes = project_storage.used_bytes + excluded.used_bytes;
