-- Registrations whose registry did not say, when they were ordered, that a trademark claims the name: the acceptance of its notice is waited
-- for until then, before anything is charged or sent.
alter table domains.orders add column notice_until timestamptz;
-- What the registry tells of the name, by which the notice is found.
alter table domains.orders add column notice_lookup_key text;
alter table domains.orders add constraint orders_notice_that_waits check ((notice_until is null) = (notice_lookup_key is null));
create index orders_that_wait_for_a_notice on domains.orders (workspace_id, name) where notice_until is not null;
