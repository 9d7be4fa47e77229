/**
 * Two projects of the same shape and different size, written by SQL: by the API a million rows would take an hour. Each
 * list is full at every filter in both, and what a rare filter finds is the same number of rows in both, scattered over
 * the whole table: 20 of the smiths and the runs of those 20.
 */
import type { BenchDatabase } from '../database.ts';

export interface SeededProject {
  readonly projectId: string;
  readonly commonAgentId: string;
  readonly rareAgentId: string;
  readonly rows: number;
}

/** Every run belongs to the first smith of its block of so many. */
const RUNS_PER_SMITH = 20;
const RARE_ROWS = 20;

/** The rows of either project are spread over the day that ended when this one began (UTC). */
const DAY_MS = 24 * 60 * 60 * 1000;
const SPREAD_FROM = new Date(new Date().setUTCHours(0, 0, 0, 0) - DAY_MS);
export const SPREAD_MIDDLE = new Date(SPREAD_FROM.getTime() + DAY_MS / 2);

export async function seedProject({ client }: BenchDatabase, project: SeededProject): Promise<void> {
  await client.query(FUNCTIONS);
  const { projectId, commonAgentId, rareAgentId, rows } = project;
  for (const text of [CUSTOMERS, SMITHS, COUNTS, RUNS, EVENTS]) {
    await client.query(text, [projectId, rows, commonAgentId, rareAgentId, SPREAD_FROM.getTime()]);
  }
}

/** What autovacuum would do some minutes later. */
export async function settleTables({ client }: BenchDatabase): Promise<void> {
  for (const table of ['customers', 'smiths', 'runs', 'events']) await client.query(`vacuum analyze ${table}`);
}

/** The id of the row with this number, counted from the oldest, 1. */
export async function findRowId(
  { client }: BenchDatabase,
  prefix: 'cus' | 'smt' | 'run' | 'evt',
  project: SeededProject,
  number: number,
): Promise<string> {
  const text = `select pg_temp.row_id($1, $2::bigint, $3::bigint, $4::bigint) as id`;
  const { rows } = await client.query<{ id: string }>(text, [prefix, number, project.rows, SPREAD_FROM.getTime()]);
  return rows[0]?.id ?? '';
}

/** The number of the rare smith with this index, 0 to RARE_ROWS − 1; the runs of its block are its own. */
export function rareSmithNumber(index: number, rows: number): number {
  return 1 + index * Math.floor(rows / RUNS_PER_SMITH / RARE_ROWS) * RUNS_PER_SMITH;
}

/**
 * Ids as the program mints them, of rows evenly spread; hexadecimal digits are a subset of those of a ULID. Immutable
 * bodies alone, so that PostgreSQL inlines them: called, they would cost more than the insert.
 */
const FUNCTIONS = `
  create or replace function pg_temp.row_time(n bigint, total bigint, first bigint) returns bigint
    language sql immutable as $$ select first + (n * ${DAY_MS}) / total $$;
  create or replace function pg_temp.base32(ms bigint, place int) returns text
    language sql immutable as $$
      select substr('0123456789abcdefghjkmnpqrstvwxyz', ((ms >> (5 * place)) & 31)::int + 1, 1) $$;
  create or replace function pg_temp.id_of(prefix text, ms bigint, n bigint) returns text
    language sql immutable as $$
      select prefix || '_' || pg_temp.base32(ms, 9) || pg_temp.base32(ms, 8) || pg_temp.base32(ms, 7)
        || pg_temp.base32(ms, 6) || pg_temp.base32(ms, 5) || pg_temp.base32(ms, 4) || pg_temp.base32(ms, 3)
        || pg_temp.base32(ms, 2) || pg_temp.base32(ms, 1) || pg_temp.base32(ms, 0) || lpad(to_hex(n), 16, '0') $$;
  create or replace function pg_temp.row_id(prefix text, n bigint, total bigint, first bigint) returns text
    language sql immutable as $$ select pg_temp.id_of(prefix, pg_temp.row_time(n, total, first), n) $$;
  create or replace function pg_temp.row_at(n bigint, total bigint, first bigint) returns timestamptz
    language sql immutable as $$ select to_timestamp(pg_temp.row_time(n, total, first) / 1000.0) $$;
  create or replace function pg_temp.is_rare(n bigint, total bigint) returns boolean
    language sql immutable as $$
      select (n - 1) % (total / ${RUNS_PER_SMITH} / ${RARE_ROWS} * ${RUNS_PER_SMITH}) = 0
        and (n - 1) / (total / ${RUNS_PER_SMITH} / ${RARE_ROWS} * ${RUNS_PER_SMITH}) < ${RARE_ROWS} $$;
  create or replace function pg_temp.smith_of(n bigint) returns bigint
    language sql immutable as $$ select (n - 1) / ${RUNS_PER_SMITH} * ${RUNS_PER_SMITH} + 1 $$;
`;

/** Parameters of each: project, rows, common agent, rare agent, first millisecond. All are used by all, for one call serves them. */
const CUSTOMERS = `
  insert into customers (project_id, id, name, created_at)
  select $1, pg_temp.row_id('cus', n, $2::bigint, $5::bigint), 'Customer ' || n, pg_temp.row_at(n, $2::bigint, $5::bigint)
  from generate_series(1, $2::bigint) n
  where $3::text is not null and $4::text is not null`;

/** Customer 1 has the rare smiths, customers 2 to 11 the others. */
const SMITHS = `
  insert into smiths (project_id, id, external_id, agent_id, customer_id, config, rollout_slot, revision, created_at, updated_at)
  select $1, pg_temp.row_id('smt', n, $2::bigint, $5::bigint),
    case when rare then 'vip-' else 'user-' end || n,
    case when rare then $4 else $3 end,
    pg_temp.row_id('cus', case when rare then 1 else 2 + n % 10 end, $2::bigint, $5::bigint),
    '{}', n % 100, 1, at, at
  from generate_series(1, $2::bigint) n,
    lateral (select pg_temp.is_rare(n, $2::bigint) as rare, pg_temp.row_at(n, $2::bigint, $5::bigint) as at) of_row`;

/** What the program keeps as smiths come and go. */
const COUNTS = `
  update customers set smith_count = counted.smith_count
  from (
    select customer_id, count(*) as smith_count from smiths where project_id = $1 and archived_at is null group by customer_id
  ) counted
  where project_id = $1 and id = counted.customer_id
    and $2::bigint is not null and $3::text is not null and $4::text is not null and $5::bigint is not null`;

const RUNS = `
  insert into runs (project_id, id, smith_id, thread_id, turn, agent_id, agent_version, status, channel, input, config,
    output, stop_reason, input_tokens, output_tokens, cost_micros, actor, created_at, updated_at)
  select $1, pg_temp.row_id('run', n, $2::bigint, $5::bigint),
    pg_temp.row_id('smt', pg_temp.smith_of(n), $2::bigint, $5::bigint),
    pg_temp.row_id('thr', n, $2::bigint, $5::bigint), 1,
    case when of_rare_smith then $4 else $3 end, 1,
    case when rare then 'failed' else 'completed' end, 'api',
    '[{"role": "user", "content": "What did we agree on in the last call, and who does what until Friday?"}]', '{}',
    '{"content": "The offer goes out on Thursday.", "content_type": "text", "tool_calls": [], "suggested_replies": []}',
    'stop', 120, 40, 150, '{"kind": "tenant", "id": "bench", "token_id": "tok_bench", "email": ""}', at, at
  from generate_series(1, $2::bigint) n,
    lateral (select pg_temp.is_rare(n, $2::bigint) as rare, pg_temp.is_rare(pg_temp.smith_of(n), $2::bigint) as of_rare_smith,
      pg_temp.row_at(n, $2::bigint, $5::bigint) as at) of_row`;

const EVENTS = `
  insert into events (project_id, id, type, smith_id, actor, data, created_at)
  select $1, pg_temp.row_id('evt', n, $2::bigint, $5::bigint),
    case when pg_temp.is_rare(n, $2::bigint) then 'run.failed' else 'run.completed' end,
    pg_temp.row_id('smt', pg_temp.smith_of(n), $2::bigint, $5::bigint),
    '{"kind": "tenant", "id": "bench", "token_id": "tok_bench", "email": ""}',
    '{"stop_reason": "stop", "usage": {"input_tokens": 120, "output_tokens": 40, "total_tokens": 160}}',
    pg_temp.row_at(n, $2::bigint, $5::bigint)
  from generate_series(1, $2::bigint) n
  where $3::text is not null and $4::text is not null`;
