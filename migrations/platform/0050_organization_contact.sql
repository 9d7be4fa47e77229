-- Where an organization can be written to, as its operator says: what id_tokens call `email`.

alter table organizations add column contact_email text;
