-- The addresses behind ALIAS records: src/domains/dns/alias/refresh-aliases.ts.
create table domains.alias_answers (
  workspace_id text not null,
  domain_id text not null,
  -- What was looked up last, as the record has it.
  target text not null,
  -- What is served: [{type, value}].
  addresses jsonb not null default '[]',
  -- Seconds that the target's answers may be remembered; null: there have been none.
  ttl integer,
  -- When the target last answered with addresses.
  resolved_at timestamptz,
  -- The next look; while one is under way, when another process may take it over.
  look_at timestamptz not null,
  -- Looks since it last answered.
  attempts integer not null default 0,
  -- Why the last look brought no addresses.
  problem text,
  changed_at timestamptz not null default now(),
  primary key (workspace_id, domain_id),
  foreign key (workspace_id, domain_id) references domains.zones (workspace_id, domain_id) on delete cascade
);
create index alias_answers_to_look_at on domains.alias_answers (look_at);
create index dns_records_aliases on domains.dns_records (workspace_id, domain_id) where type = 'ALIAS';
