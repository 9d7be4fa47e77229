-- What owners have been told of terms that end: src/domains/notices/send-notices.ts.
create table domains.expiry_notices (
  workspace_id text not null,
  domain_id text not null,
  -- The end of the term that it is about.
  term_end timestamptz not null,
  stage text not null check (stage in ('30_days', '14_days', '7_days', '1_day', 'expired')),
  -- Of the message: one that is sent again because its process died has the same.
  message_id text not null,
  -- Nobody else sends it until then.
  lease_until timestamptz not null,
  sent_at timestamptz,
  primary key (workspace_id, domain_id, term_end, stage),
  foreign key (workspace_id, domain_id) references domains.domains (workspace_id, id)
);
