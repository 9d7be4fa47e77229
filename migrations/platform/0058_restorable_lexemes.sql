-- A body that is parsed here, and so names `fold_text` in its schema, wherever that is: while a dump is restored no schema is looked
-- through, and a body kept as text would not find it.
create or replace function chunk_lexemes(vector_store_id text, file_id text, body text)
  returns tsvector language sql immutable strict parallel safe
  return array_to_tsvector(array['store:' || vector_store_id, 'file:' || file_id])
    || to_tsvector('pg_catalog.english', fold_text(body));
