-- Secrets that were replaced before the previous one and have not ended: src/kernel/webhooks/sealed-secrets.ts. Null: there are none.
alter table webhooks add column sealed_earlier_secrets text;
