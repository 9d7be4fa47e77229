-- The prepaid wallet of each organization: a double-entry ledger in whole cents, what is paid into it, and what usage draws.

create table wallets (
  organization_id text primary key references organizations (id),
  -- Of every amount in the wallet; null until the first one.
  currency text,
  -- What the entries of the account `balance` add up to. Below zero where turns in flight cost more than there was.
  balance_cents bigint not null default 0,
  -- What usage has cost beyond the cents that were drawn for it, in units of 10^-12 cents.
  carry bigint not null default 0 check (carry >= 0 and carry < 1000000000000),
  -- When money came in for the first time.
  credited_at timestamptz,
  -- When the feed was told that the wallet is empty; null again once there is money.
  exhausted_at timestamptz,
  stripe_customer_id text unique,
  -- Stripe's payment method that is charged while nobody is present.
  stripe_card_id text,
  autoreload_enabled boolean not null default false,
  autoreload_threshold_cents bigint not null default 500 check (autoreload_threshold_cents >= 0),
  autoreload_amount_cents bigint not null default 2000 check (autoreload_amount_cents > 0),
  -- Declines in a row, what the last one was, and when the card is charged again.
  autoreload_declines integer not null default 0,
  autoreload_failure text,
  autoreload_next_at timestamptz,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);
create index wallets_that_reload on wallets (organization_id) where autoreload_enabled;

-- Every organization has a wallet, whoever makes the organization: a turn is settled without asking.
create function open_wallet() returns trigger language plpgsql as $$
begin
  insert into wallets (organization_id) values (new.id);
  return null;
end $$;
create trigger organizations_have_a_wallet after insert on organizations
  for each row execute function open_wallet();
insert into wallets (organization_id) select id from organizations;

create table wallet_transactions (
  organization_id text not null references wallets (organization_id),
  id text not null,
  kind text not null
    check (kind in ('starter', 'topup', 'autoreload', 'redeem', 'usage', 'refund', 'adjustment')),
  description text not null,
  -- Names the one thing that it books, such as payment:<id>: the same thing is never booked twice.
  reference text not null unique,
  -- Whose usage it is.
  project_id text,
  created_at timestamptz not null default now(),
  primary key (organization_id, id)
);

create table wallet_entries (
  organization_id text not null,
  transaction_id text not null,
  position smallint not null,
  -- balance is the organization's money; the others are where it comes from and goes to.
  account text not null check (account in ('balance', 'card', 'starter', 'code', 'usage', 'operator')),
  amount_cents bigint not null check (amount_cents <> 0),
  primary key (organization_id, transaction_id, position),
  foreign key (organization_id, transaction_id) references wallet_transactions (organization_id, id)
);

create function refuse_wallet_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger of the wallets is append-only';
end $$;
create trigger wallet_transactions_append_only before update or delete on wallet_transactions
  for each row execute function refuse_wallet_change();
create trigger wallet_transactions_keep before truncate on wallet_transactions
  for each statement execute function refuse_wallet_change();
create trigger wallet_entries_append_only before update or delete on wallet_entries
  for each row execute function refuse_wallet_change();
create trigger wallet_entries_keep before truncate on wallet_entries
  for each statement execute function refuse_wallet_change();

-- Both sides of a transaction are there when it commits, and they are equal.
create function check_wallet_balance() returns trigger language plpgsql as $$
begin
  if (select sum(amount_cents) from wallet_entries
      where organization_id = new.organization_id and transaction_id = new.transaction_id) <> 0 then
    raise exception 'the wallet’s transaction % does not sum to zero', new.transaction_id;
  end if;
  return null;
end $$;
create constraint trigger wallet_entries_sum_to_zero after insert on wallet_entries
  deferrable initially deferred for each row execute function check_wallet_balance();

-- What each project's usage costs its organization, a row a day (UTC): exact, in units of 10^-12 cents, and the cents that
-- were drawn when it was this project's turn that filled them.
create table wallet_draws (
  organization_id text not null references wallets (organization_id),
  day date not null,
  project_id text not null,
  cost numeric not null,
  drawn_cents bigint not null,
  primary key (organization_id, day, project_id)
) with (fillfactor = 50);

create table redeem_codes (
  -- SHA-256 of the code: the code itself is nowhere.
  hash text primary key,
  amount_cents bigint not null check (amount_cents > 0),
  minted_at timestamptz not null default now(),
  expires_at timestamptz,
  redeemed_at timestamptz,
  redeemed_by text references organizations (id)
);

-- What is asked of Stripe, written down before it is asked: pages on which somebody pays or saves a card, and charges of the
-- saved card.
create table wallet_payments (
  organization_id text not null references wallets (organization_id),
  id text not null,
  kind text not null check (kind in ('setup', 'checkout', 'reload', 'autoreload')),
  amount_cents bigint not null check (amount_cents >= 0),
  currency text not null,
  state text not null default 'open' check (state in ('open', 'succeeded', 'failed', 'expired')),
  -- Of a charge: the payment method, as it was when it was first asked for.
  card_id text,
  return_url text,
  session_id text unique,
  session_url text,
  intent_id text unique,
  failure text,
  -- The caller's Idempotency-Key and what it stands for.
  request_key text,
  request_fingerprint text,
  -- When Stripe is asked what became of it. While somebody asks: when that somebody counts as lost.
  next_look_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (organization_id, id)
);
create unique index wallet_payments_of_keys on wallet_payments (organization_id, kind, request_key)
  where request_key is not null;
-- One automatic reload at a time.
create unique index wallet_payments_autoreload on wallet_payments (organization_id)
  where kind = 'autoreload' and state = 'open';
create index wallet_payments_due on wallet_payments (next_look_at) where state = 'open';

-- Events of Stripe that have been acted on.
create table stripe_events (
  id text primary key,
  type text not null,
  received_at timestamptz not null default now()
);
create index stripe_events_by_time on stripe_events (received_at);
