-- Names that the registry says we do not have, until they are retired or shown to be ours: src/domains/portfolio/missing-names.ts.
alter table domains.domains
  -- Since when the registry has said so, whenever it was asked; null: it shows the name.
  add column missing_since timestamptz,
  -- When it last said so at least an hour after the time before.
  add column missing_seen_at timestamptz,
  -- How many times it has.
  add column missing_sightings integer not null default 0,
  -- A message of the registry said that the name was deleted, or handed over.
  add column missing_announced boolean not null default false;
create index domains_missing on domains.domains (missing_since) where missing_since is not null;

alter table domains.zones
  -- Of a name that is gone: until then the zone is kept, and served.
  add column close_at timestamptz,
  -- To be taken from the nameservers, and then dropped.
  add column is_closed boolean not null default false;
create index zones_to_close on domains.zones (close_at) where close_at is not null;
update domains.zones z set is_closed = true
  from domains.domains d
  where d.workspace_id = z.workspace_id and d.id = z.domain_id and d.state = 'gone';
