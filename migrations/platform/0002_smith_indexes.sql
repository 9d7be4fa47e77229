-- Live smiths in the order of lists, however many have been archived. The external id is there for prefixes that many
-- smiths share: they are met on the way, without a look at each row.
create index smiths_live on smiths (project_id, id) include (external_id) where archived_at is null;

drop index smiths_by_agent;
create index smiths_live_by_agent on smiths (project_id, agent_id, id) where archived_at is null;

-- For prefixes that few share, and for runs of smiths that have been archived since.
drop index smiths_by_external_id;
create index smiths_by_external_id on smiths (project_id, external_id text_pattern_ops, id) include (archived_at);

-- Archiving a smith ends its tokens.
create index tokens_by_smith on tokens (project_id, smith_id) where smith_id is not null;
