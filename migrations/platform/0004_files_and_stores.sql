-- Files, vector stores and what is searched in them. Bytes lie in the blob store under `<project_id>/<id>`.

create table files (
  project_id text not null references projects (id),
  id text not null,
  -- Whose token uploaded it; null: the tenant's.
  smith_id text,
  filename text not null,
  media_type text not null,
  purpose text not null,
  bytes bigint not null,
  sha256 text not null,
  -- Files that came inside a conversation are reachable by their id only.
  listed boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create index files_listed on files (project_id, id collate "C") where listed;
create index files_by_purpose on files (project_id, purpose, id collate "C") where listed;
create index files_by_smith on files (project_id, smith_id, id collate "C") where smith_id is not null;

create table vector_stores (
  project_id text not null references projects (id),
  id text not null,
  smith_id text,
  name text not null default '',
  description text,
  metadata jsonb not null default '{}',
  embedding_model text not null,
  chunk_tokens int not null,
  overlap_tokens int not null,
  -- Kept with every change of a file's status, so that a list of stores counts nothing.
  files_in_progress int not null default 0,
  files_completed int not null default 0,
  files_failed int not null default 0,
  files_cancelled int not null default 0,
  usage_bytes bigint not null default 0,
  last_active_at timestamptz,
  created_at timestamptz not null default now(),
  -- A deleted store is gone for every caller; a job takes its rows away in bites.
  deleted_at timestamptz,
  primary key (project_id, id)
);
create index vector_stores_live on vector_stores (project_id, id collate "C") where deleted_at is null;
create index vector_stores_by_smith on vector_stores (project_id, smith_id, id collate "C") where deleted_at is null;

create table vector_store_batches (
  project_id text not null,
  vector_store_id text not null,
  id text not null,
  cancelled_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (project_id, vector_store_id, id)
);

-- A file in a store. in_progress ─▶ completed | failed | cancelled; its chunks count for searches once it is completed.
create table vector_store_files (
  project_id text not null,
  vector_store_id text not null,
  file_id text not null,
  -- Orders lists: files enter in the order of their requests.
  position bigint generated always as identity,
  batch_id text,
  status text not null default 'in_progress' check (status in ('in_progress', 'completed', 'failed', 'cancelled')),
  attributes jsonb,
  chunk_tokens int not null,
  overlap_tokens int not null,
  chunk_count int not null default 0,
  usage_bytes bigint not null default 0,
  error_code text check (error_code in ('server_error', 'unsupported_file', 'no_text_layer', 'invalid_file')),
  error_message text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, vector_store_id, file_id),
  foreign key (project_id, vector_store_id) references vector_stores (project_id, id)
);
create index vector_store_files_in_order on vector_store_files (project_id, vector_store_id, position);
create index vector_store_files_by_status on vector_store_files (project_id, vector_store_id, status, position);
create index vector_store_files_by_batch on vector_store_files (project_id, vector_store_id, batch_id, position)
  where batch_id is not null;
create index vector_store_files_by_file on vector_store_files (project_id, file_id);

-- Text as words are compared: without accents or ligatures, paths and snake_case taken apart, and each sign of the scripts
-- that put no spaces between words standing alone. Chunks and queries both pass through it.
create function fold_text(body text) returns text language sql immutable strict parallel safe as $$
  select regexp_replace(
    translate(normalize(regexp_replace(normalize(body, NFKD), '[\u0300-\u036f]', '', 'g'), NFC), '/_', '  '),
    '([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff])', ' \1 ', 'g')
$$;

-- A chunk's words, with two marks that name its store and its file: one index serves all tenants, and a search for a word
-- in one store, or in some files of it, reads only what carries both. No word looks like a mark, for words have no colon.
create function chunk_lexemes(vector_store_id text, file_id text, body text)
  returns tsvector language sql immutable strict parallel safe as $$
  select array_to_tsvector(array['store:' || vector_store_id, 'file:' || file_id])
    || to_tsvector('pg_catalog.english', fold_text(body))
$$;

create table vector_store_chunks (
  project_id text not null,
  vector_store_id text not null,
  file_id text not null,
  position int not null,
  text text not null,
  tokens int not null,
  -- Of the store's model; stores differ, so the column has no dimension of its own.
  embedding halfvec not null,
  lexemes tsvector generated always as (chunk_lexemes(vector_store_id, file_id, text)) stored,
  primary key (project_id, vector_store_id, file_id, position)
);
-- Half precision and, as long as a page can hold it, inside the row: comparing all vectors of a store reads few pages.
alter table vector_store_chunks alter column embedding set storage main;
create index vector_store_chunks_lexemes on vector_store_chunks using gin (lexemes);

-- Nearest neighbours of the usual lengths; vectors of another length are compared one by one. The embedded store has no such
-- index: there an insert into it takes 80 ms, where comparing ten thousand vectors one by one takes 60.
do $$
declare
  dimensions int;
begin
  if version() like '%PGlite%' then
    return;
  end if;
  foreach dimensions in array array[384, 512, 768, 1024, 1536, 3072] loop
    execute format(
      'create index vector_store_chunks_hnsw_%1$s on vector_store_chunks
         using hnsw ((embedding::halfvec(%1$s)) halfvec_cosine_ops) where vector_dims(embedding) = %1$s',
      dimensions);
  end loop;
end
$$;

-- Blobs that no row stands for: not yet (an upload under way) or no longer (its row was deleted). What is left of them
-- when their time has come is removed, so that a crash between a blob and its row leaves nothing for good.
create table unclaimed_blobs (
  project_id text not null,
  blob_key text not null,
  removable_at timestamptz not null,
  primary key (project_id, blob_key)
);
