-- Addresses that get no mail of a project's any more, and how much mail somebody sends to a mailbox. docs/channels.md

create table email_suppressions (
  project_id text not null references projects (id),
  id text not null,
  -- In lower case.
  address text not null,
  -- Why, in a line: a bounce, a complaint, or what the tenant has written; null: nobody has said.
  reason text,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create unique index email_suppressions_once on email_suppressions (project_id, address);

-- Of the hour in which the sender wrote last.
create table email_senders (
  project_id text not null,
  deployment_id text not null,
  sender text not null,
  hour timestamptz not null,
  mails integer not null,
  primary key (project_id, deployment_id, sender),
  foreign key (project_id, deployment_id) references deployments (project_id, id) on delete cascade
);
create index email_senders_by_hour on email_senders (hour);
