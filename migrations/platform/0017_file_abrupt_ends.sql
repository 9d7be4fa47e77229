-- Readings of a file that ended abruptly: the child that read it crashed, or the whole process ended while it was read.
-- A reading under way may be counted in advance, and is taken back when it ends in order.
alter table vector_store_files add column abrupt_ends int not null default 0;
