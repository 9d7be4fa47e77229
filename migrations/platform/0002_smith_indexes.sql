-- Live smiths in the order of lists, however many have been archived. The external id is there for prefixes that many
-- smiths share: they are met on the way, without a look at each row.
create index smiths_live on smiths (project_id, id) include (external_id) where archived_at is null;

-- Filtered lists ask for the order of "C", which is the same for ids, and which these indexes alone have: otherwise the
-- planner may take the primary key for a common value, and read every row that is newer than the matching ones.
drop index smiths_by_agent;
create index smiths_live_by_agent on smiths (project_id, agent_id, id collate "C") where archived_at is null;
drop index smiths_by_customer;
create index smiths_by_customer on smiths (project_id, customer_id, id collate "C") where customer_id is not null;

-- For prefixes that few share, and for runs of smiths that have been archived since.
drop index smiths_by_external_id;
create index smiths_by_external_id on smiths (project_id, external_id text_pattern_ops, id) include (archived_at);

-- Archiving a smith ends its tokens.
create index tokens_by_smith on tokens (project_id, smith_id) where smith_id is not null;
