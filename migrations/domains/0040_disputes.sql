-- Payments by card that the holder of a card disputes at the bank: src/domains/wallet/disputes.

-- What is in dispute, or lost: a wallet is below nothing by no more than that.
alter table domains.wallets add column disputed_cents bigint not null default 0 check (disputed_cents >= 0);
alter table domains.wallets drop constraint wallets_available_cents_check;
alter table domains.wallets add constraint wallets_available_cents_check check (available_cents >= -disputed_cents);

create table domains.disputes (
  workspace_id text not null,
  -- The payment provider's.
  id text not null,
  payment_id text not null,
  -- What left the wallet.
  amount_cents bigint not null check (amount_cents > 0),
  -- won: it is back in the wallet. lost: it stays away.
  state text not null check (state in ('open', 'won', 'lost')),
  -- The owner has not been told of this state by mail yet.
  untold boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, payment_id) references domains.payments (workspace_id, id)
);
create index disputes_untold on domains.disputes (workspace_id, id) where untold;
create index disputes_by_time on domains.disputes (created_at desc);
create index payments_by_reference on domains.payments (provider_reference) where provider_reference is not null;

-- The saved card that was there when a payment was disputed: it is charged by itself no more.
alter table domains.auto_top_ups add column disputed_card text;
