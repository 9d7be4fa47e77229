-- Links by mail for those who have lost their tokens: src/domains/resources/sign-ins/request-sign-in.ts. Also of addresses that nobody has
-- signed up with: whoever asks cannot tell.
create table domains.sign_ins (
  id text primary key,
  email_key text not null,
  requested_at timestamptz not null,
  -- SHA-256 of the code in the link, which is random and long: the code is kept nowhere.
  code_hash bytea unique,
  expires_at timestamptz,
  used_at timestamptz
);
create index sign_ins_of_address on domains.sign_ins (email_key, requested_at);
create index sign_ins_by_time on domains.sign_ins (requested_at);
