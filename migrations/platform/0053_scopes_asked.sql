-- What the user was asked for; the issuer may have granted less. Null: nobody was asked.
alter table connections add column scopes_asked text[];
