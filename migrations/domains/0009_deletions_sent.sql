-- When a deletion was last sent to the registry, written down before it is sent: src/domains/portfolio/missing-names.ts.
alter table domains.domains add column deletion_sent_at timestamptz;
