-- Usage: what was used, row by row and summed by day; and budgets, which limit what it may cost.

alter table runs
  add column cached_input_tokens bigint not null default 0,
  add column reasoning_tokens bigint not null default 0;

alter table run_steps
  add column cached_input_tokens bigint not null default 0,
  add column reasoning_tokens bigint not null default 0,
  -- The day (UTC) whose usage the step counts in, and the customer that the smith had then. Null: it called no model.
  add column usage_day date,
  add column customer_id text;

-- What was used other than by the model calls of turns: those are rows of run_steps.
create table usage_entries (
  project_id text not null,
  id text not null,
  source text not null check (source in ('embedding', 'sandbox', 'meter', 'external')),
  model text not null default '',
  meter text not null default '',
  smith_id text not null default '',
  agent_id text not null default '',
  customer_id text not null default '',
  app_id text not null default '',
  at timestamptz not null,
  -- Of `at`, in UTC.
  day date not null,
  calls bigint not null default 0,
  unpriced_calls bigint not null default 0,
  input_tokens bigint not null default 0,
  cached_input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  reasoning_tokens bigint not null default 0,
  -- Millionths of a US dollar.
  cost_micros bigint not null default 0,
  quantity numeric not null default 0,
  seconds numeric not null default 0,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create index usage_entries_of_meters on usage_entries (project_id, id) where source = 'meter';
create index usage_entries_of_meters_by_smith on usage_entries (project_id, smith_id, id) where source = 'meter';

-- The sums of those rows by day, added to by the statements that write them. '' where a row has none.
create table usage_daily (
  project_id text not null,
  day date not null,
  source text not null,
  model text not null,
  meter text not null,
  smith_id text not null,
  agent_id text not null,
  customer_id text not null,
  app_id text not null,
  calls bigint not null,
  unpriced_calls bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_micros bigint not null,
  quantity numeric not null,
  seconds numeric not null,
  primary key (project_id, day, source, model, meter, smith_id, agent_id, customer_id, app_id)
) with (fillfactor = 70);
create index usage_daily_by_smith on usage_daily (project_id, smith_id, day) where smith_id <> '';
create index usage_daily_by_agent on usage_daily (project_id, agent_id, day) where agent_id <> '';
create index usage_daily_by_customer on usage_daily (project_id, customer_id, day) where customer_id <> '';

-- Turns of before.
update run_steps s
set usage_day = (coalesce(s.finished_at, s.started_at) at time zone 'utc')::date, customer_id = m.customer_id
from runs r join smiths m on m.project_id = r.project_id and m.id = r.smith_id
where r.project_id = s.project_id and r.id = s.run_id
  and (s.kind = 'model' or s.input_tokens + s.output_tokens > 0);
insert into usage_daily
select s.project_id, s.usage_day, 'turn', s.name, '', r.smith_id, coalesce(r.agent_id, ''), coalesce(s.customer_id, ''), '',
  count(*), count(*) filter (where s.cost_micros is null), sum(s.input_tokens), 0, sum(s.output_tokens), 0,
  coalesce(sum(s.cost_micros), 0), 0, 0
from run_steps s join runs r on r.project_id = s.project_id and r.id = s.run_id
where s.usage_day is not null
group by s.project_id, s.usage_day, s.name, r.smith_id, r.agent_id, s.customer_id;

create table budgets (
  project_id text not null references projects (id),
  id text not null,
  scope text not null check (scope in ('tenant', 'agent', 'smith', 'customer')),
  -- '' for the tenant.
  scope_id text not null,
  period text not null check (period in ('daily', 'weekly', 'monthly', 'total')),
  limit_micros bigint not null check (limit_micros >= 0),
  action text not null check (action in ('warn', 'block')),
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create unique index budgets_of_scope on budgets (project_id, scope, scope_id, period);

-- One period of a budget, written with the usage that counts in it. No foreign key: a budget that is deleted while a turn
-- is settled must not fail the settlement.
create table budget_periods (
  project_id text not null,
  budget_id text not null,
  -- 2026-11-22, 2026-W47, 2026-11, total.
  period_key text not null,
  spent_micros bigint not null default 0,
  -- What calls under way may cost: the sum of its rows in budget_reservations.
  reserved_micros bigint not null default 0,
  -- The budget's own, for due_tier.
  limit_micros bigint not null,
  -- The highest threshold that an event has told of.
  announced smallint not null default 0,
  due_tier smallint not null generated always as (
    case when spent_micros >= limit_micros then 100 when spent_micros * 5 >= limit_micros * 4 then 80 else 0 end) stored,
  primary key (project_id, budget_id, period_key)
) with (fillfactor = 70);
create index budget_periods_due on budget_periods (project_id, budget_id) where due_tier > announced;

-- What a call that is under way may cost at most, by whoever makes it. One that a crash has left counts until it expires.
create table budget_reservations (
  project_id text not null,
  -- A run, or another operation that calls a model.
  holder text not null,
  budget_id text not null,
  period_key text not null,
  amount_micros bigint not null,
  expires_at timestamptz not null,
  primary key (project_id, holder, budget_id, period_key)
);
create index budget_reservations_by_expiry on budget_reservations (expires_at);
