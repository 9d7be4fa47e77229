-- A customer's live smiths are counted as they come and go: a list that counted them as it is read would read them all.

alter table customers add column smith_count int not null default 0;

-- Nobody may archive or move a smith between the count and the end of this transaction.
lock table smiths in share row exclusive mode;
update customers set smith_count = counted.smith_count
from (
  select project_id, customer_id, count(*) as smith_count
  from smiths
  where customer_id is not null and archived_at is null
  group by project_id, customer_id
) as counted
where customers.project_id = counted.project_id and customers.id = counted.customer_id;
