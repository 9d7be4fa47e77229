-- What files a project stores, in bytes: changed in the transaction that adds or removes a file, so that a limit can be held
-- against one number.
create table project_storage (
  project_id text primary key references projects (id),
  used_bytes bigint not null check (used_bytes >= 0)
);

-- Nobody may add a file between the count and the end of this transaction.
lock table files in share row exclusive mode;
insert into project_storage (project_id, used_bytes) select project_id, sum(bytes) from files group by project_id;

-- A blob store lists what it holds by the digests of keys (kernel/blobs): these tell which of them something stands for.
create function blob_digest(blob_key text) returns text language sql immutable strict parallel safe as $$
  select encode(sha256(decode(blob_key, 'escape')), 'hex')
$$;
create index files_by_blob on files (blob_digest(project_id || '/' || id));
create index unclaimed_blobs_by_digest on unclaimed_blobs (blob_digest(blob_key));

-- Names this database to the blob store whose blobs it accounts for, so that no other one's are taken for orphans. The row is
-- made when it is first asked for: databases that begin as copies of one template are different ones.
create table store_identity (
  only_row boolean primary key default true check (only_row),
  id text not null
);
