-- The movements of a wallet, newest first: src/domains/resources/wallet/list-movements.ts.
create index ledger_transactions_by_time on domains.ledger_transactions (workspace_id, created_at desc, id desc);
