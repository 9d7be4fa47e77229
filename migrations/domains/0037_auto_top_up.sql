-- Saved cards, and wallets that are topped up by themselves: src/domains/wallet/auto-top-up.

create table domains.auto_top_ups (
  workspace_id text primary key references domains.workspaces,
  -- The payment provider's names of the workspace and of its card.
  customer_reference text,
  card_reference text,
  -- The page on which a card is being saved.
  page_reference text,
  page_url text,
  page_opened_at timestamptz,
  page_looked_at timestamptz,
  enabled boolean not null default false,
  -- The wallet is low below it.
  threshold_cents bigint,
  -- At least the threshold: a charge always ends the fall that it is for.
  amount_cents bigint,
  -- Of a calendar month (UTC).
  monthly_limit_cents bigint,
  -- Why it was switched off.
  failure jsonb,
  -- The payment whose decline the owner has not been told of yet.
  untold_payment_id text,
  -- The month in which the owner was told that its limit is reached.
  limit_told_in timestamptz,
  updated_at timestamptz not null default now(),
  check (amount_cents >= threshold_cents),
  check (monthly_limit_cents >= amount_cents),
  check (not enabled or (card_reference is not null and customer_reference is not null and monthly_limit_cents is not null))
);
create index auto_top_ups_enabled on domains.auto_top_ups (workspace_id) where enabled;
create index auto_top_ups_with_page on domains.auto_top_ups (page_looked_at) where page_reference is not null;
create index auto_top_ups_untold on domains.auto_top_ups (workspace_id) where untold_payment_id is not null;

alter table domains.payments drop constraint payments_kind_check;
alter table domains.payments add constraint payments_kind_check
  check (kind in ('charge', 'refund', 'top_up', 'auto_top_up'));
-- Of an automatic top-up: what is charged, as it was when it was first asked for.
alter table domains.payments add column saved_card jsonb;
-- One at a time.
create unique index payments_auto_top_up_open on domains.payments (workspace_id)
  where kind = 'auto_top_up' and state = 'open';
create index payments_auto_top_ups on domains.payments (workspace_id, created_at) where kind = 'auto_top_up';
