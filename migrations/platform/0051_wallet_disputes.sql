-- Payments that the holder of a card disputes leave the wallet, and come back where the dispute is won.

alter table wallet_transactions drop constraint wallet_transactions_kind_check;
alter table wallet_transactions add constraint wallet_transactions_kind_check
  check (kind in ('starter', 'topup', 'autoreload', 'redeem', 'usage', 'refund', 'dispute', 'adjustment'));
