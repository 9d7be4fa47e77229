-- Applications for names while a TLD is being launched: src/domains/orders/settle-application.ts.

-- In which phase the name is applied for: {phase, name}; null: the order is no application.
alter table domains.orders add column launch_phase jsonb;
update domains.orders set launch_phase = '{"phase": "sunrise"}' where is_application;
-- What of the price is for the application, and whether it comes back where another has the name.
alter table domains.orders add column application_cents bigint not null default 0;
alter table domains.orders add column application_refunded boolean not null default false;
-- When that was captured, as the registry had taken the application; null: it was not.
alter table domains.orders add column application_taken_at timestamptz;
alter table domains.orders add constraint orders_application_price
  check (application_cents between 0 and amount_cents and (application_cents = 0 or is_application));
alter table domains.orders add constraint orders_application_taken
  check (application_taken_at is null or (application_cents > 0 and not application_refunded));

-- Of a registration for the holder of a trademark, until it ends: the code that a validator has given, and the mark, in base64.
alter table domains.orders add column mark_code text;
alter table domains.orders add column mark_document text;

-- The simulated registry charges them too.
alter table domains.registry_charges drop constraint registry_charges_kind_check;
alter table domains.registry_charges add constraint registry_charges_kind_check
  check (kind in ('create', 'renew', 'auto_renew', 'transfer', 'restore', 'trade', 'application'));
