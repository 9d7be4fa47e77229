-- The simulated registry (src/domains/registry/simulated): what a registry across the network would keep. It knows
-- registrars and no workspaces. Times are decided by the service's clock.
create sequence domains.registry_numbers;

create table domains.registry_registrars (
  id text primary key,
  name text not null,
  -- salt:hash of scrypt, in base64. Null: nobody can log in as it.
  password_hash text,
  created_at timestamptz not null default now()
);

create table domains.registry_contacts (
  id text primary key,
  roid text not null default 'C' || nextval('domains.registry_numbers') || '-SIM',
  sponsor text not null,
  created_by text not null,
  created_at timestamptz not null,
  updated_by text,
  updated_at timestamptz,
  -- {postalInfo, voice, fax, email}
  data jsonb not null,
  disclose boolean not null,
  auth_info text not null
);

create table domains.registry_domains (
  name text primary key,
  roid text not null default 'D' || nextval('domains.registry_numbers') || '-SIM',
  sponsor text not null,
  created_by text not null,
  created_at timestamptz not null,
  updated_by text,
  updated_at timestamptz,
  transferred_at timestamptz,
  expires_at timestamptz not null,
  registrant text not null references domains.registry_contacts,
  auth_info text not null,
  client_statuses text[] not null default '{}',
  ds_records jsonb not null default '[]',
  phase text not null check (phase in ('creating', 'active', 'expired', 'redemption', 'pendingDelete')),
  -- The end of redemption and pendingDelete; the other phases end by expires_at or by what is pending.
  phase_until timestamptz,
  -- A create or renew that was answered with 1001: {command, years, fails, completesAt, clTRID, svTRID}.
  pending jsonb,
  -- The present or last transfer.
  transfer jsonb,
  -- When the clock next changes something.
  due_at timestamptz
);
create index registry_domains_due on domains.registry_domains (due_at);
create index registry_domains_of_registrant on domains.registry_domains (registrant);

create table domains.registry_domain_contacts (
  domain_name text not null references domains.registry_domains on delete cascade,
  type text not null check (type in ('admin', 'billing', 'tech')),
  contact_id text not null references domains.registry_contacts,
  primary key (domain_name, type, contact_id)
);
create index registry_domain_contacts_by_contact on domains.registry_domain_contacts (contact_id);

create table domains.registry_hosts (
  name text primary key,
  roid text not null default 'H' || nextval('domains.registry_numbers') || '-SIM',
  sponsor text not null,
  created_by text not null,
  created_at timestamptz not null,
  updated_by text,
  updated_at timestamptz,
  addresses text[] not null default '{}',
  -- The registered name that it lies below; it goes with that name.
  superordinate text references domains.registry_domains on delete cascade
);
create index registry_hosts_of_domain on domains.registry_hosts (superordinate) where superordinate is not null;

create table domains.registry_domain_hosts (
  domain_name text not null references domains.registry_domains on delete cascade,
  -- A host goes only when it is not linked, or with the name above it: then the delegations to it go too.
  host_name text not null references domains.registry_hosts on delete cascade,
  primary key (domain_name, host_name)
);
create index registry_domain_hosts_by_host on domains.registry_domain_hosts (host_name);

create table domains.registry_messages (
  id bigint generated always as identity primary key,
  registrar text not null,
  queued_at timestamptz not null,
  name text not null,
  text text not null,
  data jsonb not null
);
create index registry_messages_of_registrar on domains.registry_messages (registrar, id);

-- Faults to be injected between a registrar and the registry, from outside the process that is hit.
create table domains.registry_faults (
  id bigint generated always as identity primary key,
  -- A name; * stands for any run of characters.
  name_pattern text not null default '*',
  -- check, info, create, renew, transfer, update, delete, restore, poll, acknowledge, or * for each.
  command text not null default '*',
  moment text not null check (moment in ('before', 'after')),
  outcome text not null check (outcome in ('timeout', 'disconnect')),
  remaining integer not null default 1 check (remaining >= 0)
);

-- The registrar that has the names which are taken from the start, with their registrant and nameservers.
insert into domains.registry_registrars (id, name) values ('elsewhere', 'Elsewhere Registrar');
insert into domains.registry_contacts (id, sponsor, created_by, created_at, data, disclose, auth_info) values (
  'ELSEWHERE', 'elsewhere', 'elsewhere', '2000-01-01T00:00:00Z',
  '{"postalInfo": [{"type": "int", "name": "Registrant Elsewhere", "street": ["1 Example Street"], "city": "Exampleton", "country": "ZZ"}], "email": "registrant@elsewhere.example"}',
  false, 'simulated-auth'
);
insert into domains.registry_hosts (name, sponsor, created_by, created_at) values
  ('ns1.elsewhere.example', 'elsewhere', 'elsewhere', '2000-01-01T00:00:00Z'),
  ('ns2.elsewhere.example', 'elsewhere', 'elsewhere', '2000-01-01T00:00:00Z');
