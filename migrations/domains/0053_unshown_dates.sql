-- Registries need not show when a name was registered, or when its term ends (RFC 5731 3.1.2). Both were 1970 then.
alter table domains.unassigned_names alter column expires_at drop not null;
update domains.unassigned_names set expires_at = null where expires_at = 'epoch';
update domains.domains
  set expires_at = nullif(billed_until, 'epoch'), billed_until = nullif(billed_until, 'epoch')
  where expires_at = 'epoch';
update domains.domains
  set snapshot = snapshot - 'expiresAt'
  where snapshot ->> 'expiresAt' = '1970-01-01T00:00:00.000Z';
update domains.domains
  set snapshot = snapshot - 'createdAt'
  where snapshot ->> 'createdAt' = '1970-01-01T00:00:00.000Z';
