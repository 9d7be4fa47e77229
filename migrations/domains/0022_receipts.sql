-- Receipts of payments: src/domains/receipts/issue-receipts.ts.
alter table domains.payments add column has_receipt boolean not null default false;
create index payments_without_receipt on domains.payments (created_at, id) where state = 'succeeded' and not has_receipt;

-- The last number of each year. Its row is held by who issues the next one: a number that is not used is taken back with it.
create table domains.receipt_numbers (
  year integer primary key,
  last_number integer not null
);

create table domains.receipts (
  workspace_id text not null references domains.workspaces,
  id text not null,
  payment_id text not null,
  number text not null unique,
  issued_at timestamptz not null,
  description text not null,
  -- Of a refund: the number of the receipt of what was paid.
  refunds_number text,
  -- All less than nothing for a refund.
  total_cents bigint not null,
  net_cents bigint not null,
  vat_cents bigint not null,
  -- Hundredths of a per cent.
  vat_basis_points integer not null,
  -- As they were then: lines of text.
  seller jsonb not null,
  buyer jsonb not null,
  primary key (workspace_id, id),
  unique (workspace_id, payment_id),
  foreign key (workspace_id, payment_id) references domains.payments (workspace_id, id),
  check (net_cents + vat_cents = total_cents)
);

create function domains.refuse_receipt_change() returns trigger language plpgsql as $$
begin
  raise exception 'a receipt is not changed';
end $$;
create trigger receipts_append_only before update or delete on domains.receipts
  for each row execute function domains.refuse_receipt_change();
