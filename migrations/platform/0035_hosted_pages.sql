-- Visitors of hosted pages. One brings a name that its browser has made up: it is the key to what it said, and shown to nobody else.
create table hosted_visitors (
  project_id text not null,
  deployment_id text not null,
  visitor_id text not null,
  -- Whom it speaks to: the page's smith, or one of its own on the page's agent.
  smith_id text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, deployment_id, visitor_id),
  foreign key (project_id, deployment_id) references deployments (project_id, id) on delete cascade
);

-- Whose thread it is: on a smith's page all visitors' threads are one smith's.
create table hosted_threads (
  project_id text not null,
  deployment_id text not null,
  thread_id text not null,
  visitor_id text not null,
  smith_id text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, deployment_id, thread_id),
  foreign key (project_id, deployment_id, visitor_id)
    references hosted_visitors (project_id, deployment_id, visitor_id) on delete cascade
);
create index hosted_threads_of_visitor on hosted_threads (project_id, deployment_id, visitor_id);

-- How many new visitors a page has had on the day that it last had one, in UTC.
create table hosted_page_days (
  project_id text not null,
  deployment_id text not null,
  day date not null,
  new_visitors int not null,
  primary key (project_id, deployment_id),
  foreign key (project_id, deployment_id) references deployments (project_id, id) on delete cascade
);
