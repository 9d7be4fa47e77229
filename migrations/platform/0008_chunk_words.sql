-- A dot between letters parts words too: `report.pdf`, `Node.js`, a sentence that ends without a space. PostgreSQL's parser
-- would take each of them for the name of a host and find it as a whole only. Numbers keep theirs.
create or replace function fold_text(body text) returns text language sql immutable strict parallel safe as $$
  select regexp_replace(
    regexp_replace(
      translate(normalize(regexp_replace(normalize(body, NFKD), '[\u0300-\u036f]', '', 'g'), NFC), '/_', '  '),
      '([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff])', ' \1 ', 'g'),
    '(?<=[[:alpha:]])\.(?=[[:alpha:]])', ' ', 'g')
$$;

-- Two chunks a page rather than four: the words of a short chunk stay inside its row, where reading them for a search takes
-- half the time, and comparing its vector hardly more.
alter table vector_store_chunks set (toast_tuple_target = 4080);
