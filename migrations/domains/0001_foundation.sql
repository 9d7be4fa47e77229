-- The domain registration service: a schema of its own beside the platform's. Every tenant table has workspace_id as the
-- first column of its primary key. Money is in integer cents (EUR); times of decisions come from the service's clock.
create schema domains;

create table domains.workspaces (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table domains.users (
  id text primary key,
  workspace_id text not null references domains.workspaces,
  email text not null,
  -- Lower case: an address registers once, however it is spelt.
  email_key text not null unique,
  name text not null,
  -- The registrant of what the workspace buys: {organization, street, city, region, postal_code, country, phone}.
  contact jsonb not null default '{}',
  created_at timestamptz not null default now()
);
create index users_of_workspace on domains.users (workspace_id);

create table domains.tokens (
  workspace_id text not null references domains.workspaces,
  id text not null,
  user_id text references domains.users,
  -- SHA-256 of the token's text, which is random and long: nothing slower is needed, and the text is kept nowhere.
  hash bytea not null unique,
  scope text not null check (scope in ('read', 'write')),
  name text not null default '',
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  primary key (workspace_id, id)
);

-- Stored answers of Idempotency-Key, for successes only.
create table domains.idempotency_keys (
  owner text not null,
  operation text not null,
  key text not null,
  fingerprint text not null,
  status integer not null,
  sealed_body text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (owner, operation, key)
);
create index idempotency_keys_by_expiry on domains.idempotency_keys (expires_at);

-- Wallet: the balance is what the ledger's entries add up to, kept beside them so that a hold is one conditional update.
create table domains.wallets (
  workspace_id text primary key references domains.workspaces,
  available_cents bigint not null default 0 check (available_cents >= 0),
  held_cents bigint not null default 0 check (held_cents >= 0),
  updated_at timestamptz not null default now()
);

create table domains.ledger_transactions (
  workspace_id text not null references domains.workspaces,
  id text not null,
  kind text not null,
  -- Names the one event that it books, such as order:<id>:hold: the same event is never booked twice.
  reference text not null unique,
  description text not null default '',
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);

create table domains.ledger_entries (
  workspace_id text not null,
  transaction_id text not null,
  position smallint not null,
  -- available and held are the workspace's money; the others are where it comes from and goes to.
  account text not null check (account in ('available', 'held', 'sales', 'card', 'demo', 'operator')),
  amount_cents bigint not null check (amount_cents <> 0),
  primary key (workspace_id, transaction_id, position),
  foreign key (workspace_id, transaction_id) references domains.ledger_transactions (workspace_id, id)
);

create function domains.refuse_ledger_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_transactions_append_only before update or delete on domains.ledger_transactions
  for each row execute function domains.refuse_ledger_change();
create trigger ledger_entries_append_only before update or delete on domains.ledger_entries
  for each row execute function domains.refuse_ledger_change();

-- Both sides of a transaction are there when it commits, and they are equal.
create function domains.check_ledger_balance() returns trigger language plpgsql as $$
begin
  if (select coalesce(sum(amount_cents), 0) from domains.ledger_entries
      where workspace_id = new.workspace_id and transaction_id = new.transaction_id) <> 0 then
    raise exception 'ledger transaction % does not sum to zero', new.transaction_id;
  end if;
  return null;
end $$;
create constraint trigger ledger_entries_sum_to_zero after insert on domains.ledger_entries
  deferrable initially deferred for each row execute function domains.check_ledger_balance();

-- Money asked of the card company: pay-as-you-go charges of orders, their refunds, and top-ups.
create table domains.payments (
  workspace_id text not null references domains.workspaces,
  id text not null,
  kind text not null check (kind in ('charge', 'refund', 'top_up')),
  order_id text,
  -- Counts the tries of one order; part of the card company's idempotency key.
  attempt integer not null default 1,
  amount_cents bigint not null check (amount_cents > 0),
  state text not null check (state in ('open', 'succeeded', 'declined', 'expired')),
  -- What pays, sealed: the card company's name of an instrument, or a shared payment token.
  sealed_instrument text,
  provider_reference text,
  provider_url text,
  failure jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
create unique index payments_of_order on domains.payments (workspace_id, order_id, kind, attempt) where order_id is not null;
create index payments_open on domains.payments (updated_at) where state = 'open';

-- Portfolio: names that a workspace has or is acquiring, each with the registry's snapshot of the last sync.
create table domains.domains (
  workspace_id text not null references domains.workspaces,
  id text not null,
  -- ASCII (punycode), lower case.
  name text not null,
  -- acquiring: an order for it has not ended. gone: not ours any more, kept for the record.
  state text not null check (state in ('acquiring', 'active', 'gone')),
  added_via text not null check (added_via in ('registration', 'transfer')),
  -- The registry's object as the last sync saw it (RegistryDomain), and when that was. Null: not reported yet.
  snapshot jsonb,
  synced_at timestamptz,
  expires_at timestamptz,
  auto_renew boolean not null default true,
  whois_privacy boolean not null default true,
  -- Set: the name is left to expire then, at its owner's wish.
  release_at timestamptz,
  -- The end of the term that has been paid for.
  billed_until timestamptz,
  -- The state of the term that is to be renewed next, as the scheduler last saw it: see renewals/.
  renewal_state text not null default 'not_due',
  renewal_reason text,
  renewal_shortfall_cents bigint,
  created_at timestamptz not null default now(),
  gone_at timestamptz,
  primary key (workspace_id, id)
);
-- One workspace has a name, or is acquiring it: the database, not a process, keeps a name from being bought twice.
create unique index domains_one_owner on domains.domains (name) where state <> 'gone';
create index domains_of_workspace on domains.domains (workspace_id, name) where state <> 'gone';
create index domains_by_expiry on domains.domains (expires_at) where state = 'active';

-- Spending calls. See orders/ for the states.
create table domains.orders (
  workspace_id text not null references domains.workspaces,
  id text not null,
  kind text not null check (kind in ('registration', 'renewal', 'transfer')),
  origin text not null check (origin in ('request', 'auto_renew')),
  domain_id text not null,
  name text not null,
  -- 0: a transfer that adds no term.
  years integer not null check (years between 0 and 10),
  amount_cents bigint not null check (amount_cents >= 0),
  -- Renewals: the expiry that is being moved, as the registry had it. Two renewals of one term cannot both live.
  from_expires_at timestamptz,
  pays_with text not null check (pays_with in ('wallet', 'card')),
  -- Transfers, until they end.
  sealed_auth_code text,
  state text not null check (state in ('paying', 'held', 'submitted', 'pending', 'completed', 'failed')),
  -- Commands sent to the registry for it; above 1 the outcome of an earlier one was not known.
  submissions integer not null default 0,
  -- Set while a process works on it; another takes over when it lapses.
  lease_until timestamptz,
  -- The earliest next look at one that has not ended.
  next_look_at timestamptz,
  error_code text,
  error_message text,
  error_details jsonb,
  -- The operation and its Idempotency-Key, for a day.
  idempotency_key text,
  fingerprint text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, domain_id) references domains.domains (workspace_id, id)
);
create unique index orders_one_acquisition on domains.orders (name)
  where kind in ('registration', 'transfer') and state not in ('completed', 'failed');
create unique index orders_one_renewal_of_term on domains.orders (workspace_id, domain_id, from_expires_at)
  where kind = 'renewal' and state <> 'failed';
create unique index orders_one_live_renewal on domains.orders (workspace_id, domain_id)
  where kind = 'renewal' and state not in ('completed', 'failed');
create index orders_of_domain on domains.orders (workspace_id, domain_id, id);
-- A key names one order that did not fail: two requests with one key cannot both buy.
create unique index orders_one_of_key on domains.orders (workspace_id, idempotency_key)
  where idempotency_key is not null and state <> 'failed';
create index orders_to_look_at on domains.orders (next_look_at) where state not in ('completed', 'failed');

-- DNS: our rows are the truth; publishers follow them.
create table domains.zones (
  workspace_id text not null,
  domain_id text not null,
  name text not null,
  -- Grows by one with each change; published_version follows it.
  version bigint not null default 1,
  published_version bigint not null default 0,
  -- Serial of the SOA record.
  serial bigint not null default 1,
  dnssec text not null default 'off' check (dnssec in ('off', 'enabling', 'on', 'disabling')),
  -- DS records handed to the registry: [{key_tag, algorithm, digest_type, digest}].
  ds_records jsonb not null default '[]',
  failure text,
  updated_at timestamptz not null default now(),
  primary key (workspace_id, domain_id),
  foreign key (workspace_id, domain_id) references domains.domains (workspace_id, id)
);
create unique index zones_by_name on domains.zones (name);
create index zones_to_publish on domains.zones (updated_at) where published_version < version or dnssec in ('enabling', 'disabling');

create table domains.dns_records (
  workspace_id text not null,
  domain_id text not null,
  id text not null,
  -- '@' for the name itself; lower case, without the zone's name.
  subdomain text not null,
  type text not null,
  -- In the canonical form of its type, priority and the like included: the text of a zone file.
  value text not null,
  ttl integer not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, domain_id, id),
  foreign key (workspace_id, domain_id) references domains.zones (workspace_id, domain_id) on delete cascade
);
create unique index dns_records_once on domains.dns_records (workspace_id, domain_id, subdomain, type, md5(value));
