-- A file that the result of a call brings is kept at once, since the call is not made again: `run/call` until it is known that the
-- step names it. A crash in between leaves a file that nothing names.
alter table files add column result_of text;
create index files_of_results on files (created_at) where result_of is not null;
