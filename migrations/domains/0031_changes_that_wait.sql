-- Changes of a name that its registry has not made for want of credit (2104): src/domains/changes.
alter table domains.domains
  -- UpdateCommand without its name: what is to be as it says. Null: nothing waits.
  add column change_wanted jsonb,
  add column change_wanted_at timestamptz,
  -- When it is sent again.
  add column change_look_at timestamptz;

create index domains_changes_to_send on domains.domains (change_look_at) where change_look_at is not null;

-- Auth codes, which are kept nowhere here: src/domains/auth-codes.
alter table domains.domains
  -- When the registry is to forget the one that was mailed. Null: none is out.
  add column auth_code_until timestamptz,
  -- Its owner waits for one, as the registry took none for want of credit.
  add column auth_code_wanted boolean not null default false,
  -- When something is done about it next.
  add column auth_code_look_at timestamptz;

create index domains_auth_codes on domains.domains (auth_code_look_at) where auth_code_look_at is not null;
