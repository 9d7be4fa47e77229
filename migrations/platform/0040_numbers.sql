-- Deployments that have an account of their own, such as a number: found by it, in one project and over all.
create index deployments_by_account on deployments (kind, account_id collate "C", project_id) where account_id <> '';
