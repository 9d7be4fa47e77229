/** Sums of usage, and meter events as they are listed. Every query is scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { type TenantTables, USAGE_AMOUNTS } from '../../tables.ts';

export type UsageColumn = 'day' | 'model' | 'smith_id' | 'agent_id' | 'customer_id' | 'app_id' | 'meter' | 'source';

/** Which rows: days, both included, and values of columns. */
export interface UsageFilter {
  readonly from: string;
  readonly to: string;
  readonly where: Readonly<Partial<Record<Exclude<UsageColumn, 'day'>, string>>>;
  /** Without what external systems report. */
  readonly ownOnly?: boolean;
}

export interface UsageSums {
  calls: string;
  unpriced_calls: string;
  input_tokens: string;
  cached_input_tokens: string;
  output_tokens: string;
  reasoning_tokens: string;
  cost_micros: string;
  quantity: string;
  seconds: string;
}

export type UsageGroupRow = UsageSums & Partial<Record<UsageColumn, string | null>>;

const SUMS = USAGE_AMOUNTS.map((name) => `coalesce(sum(${name}), 0)::text as ${name}`).join(', ');

/** The condition, with its values from `$2` on. */
function conditionOf({ from, to, where, ownOnly }: UsageFilter): { text: string; values: unknown[] } {
  const values: unknown[] = [from, to];
  const conditions = ['project_id = $1', 'day between $2::date and $3::date'];
  for (const [column, value] of Object.entries(where)) {
    values.push(value);
    conditions.push(`${column} = $${values.length + 1}`);
    // What the index of the column holds.
    if (column.endsWith('_id')) conditions.push(`${column} <> ''`);
  }
  if (ownOnly === true) conditions.push(`source <> 'external'`);
  return { text: conditions.join(' and '), values };
}

/** Up to one group more than `limit`, in the order of the columns, beyond the group with these values of them. */
export async function listUsageGroups(
  db: TenantDb,
  filter: UsageFilter,
  columns: readonly UsageColumn[],
  page: { readonly limit: number; readonly after: readonly string[] | undefined },
): Promise<UsageGroupRow[]> {
  const { text, values } = conditionOf(filter);
  const shown = columns.map((column) => (column === 'day' ? 'day::text as day' : column));
  let beyond = '';
  if (page.after !== undefined) {
    const places = columns.map(
      (column, index) => `$${values.length + 2 + index}${column === 'day' ? '::date' : '::text'}`,
    );
    values.push(...page.after);
    beyond = `and (${columns.join(', ')}) > (${places.join(', ')})`;
  }
  const list = columns.join(', ');
  const { rows } = await db.raw<UsageGroupRow>({
    text: `
      select ${shown.join(', ')}, ${SUMS} from usage_daily d where ${text} ${beyond}
      group by ${list.replace(/\bday\b/, 'd.day')} order by ${list.replace(/\bday\b/, 'd.day')} limit ${page.limit + 1}`,
    values,
    prepare: false,
  });
  return rows;
}

export async function sumUsage(db: TenantDb, filter: UsageFilter): Promise<UsageSums> {
  const { text, values } = conditionOf(filter);
  const { rows } = await db.raw<UsageSums>({
    text: `select ${SUMS} from usage_daily where ${text}`,
    values,
    prepare: false,
  });
  const [sums] = rows;
  if (sums === undefined) throw new Error('a sum without groups has one row');
  return sums;
}

/** All of it, each day and each model, by one look: `kind` tells which. */
export async function summarizeUsage(
  db: TenantDb,
  filter: UsageFilter,
  maxModels: number,
): Promise<(UsageGroupRow & { kind: 'all' | 'day' | 'model' })[]> {
  const { text, values } = conditionOf(filter);
  const { rows } = await db.raw<UsageGroupRow & { kind: 'all' | 'day' | 'model' }>({
    text: `
      select s.* from (
        select case when grouping(d.day) = 0 then 'day' when grouping(d.model) = 0 then 'model' else 'all' end as kind,
          d.day::text as day, d.model, ${SUMS},
          row_number() over (partition by grouping(d.day), grouping(d.model) order by sum(cost_micros) desc, d.model) as place
        from usage_daily d where ${text}
        group by grouping sets ((), (d.day), (d.model))
      ) s
      where kind <> 'model' or place <= ${maxModels}
      order by kind, day, place`,
    values,
    prepare: false,
  });
  return rows;
}

const EVENT_COLUMNS = ['id', 'meter', 'quantity', 'smith_id', 'customer_id', 'at', 'created_at'] as const;

export type MeterEventRow = Pick<Selectable<TenantTables['usage_entries']>, (typeof EVENT_COLUMNS)[number]>;

function selectMeterEvents(db: TenantDb) {
  return db.selectFrom('usage_entries').select(EVENT_COLUMNS).where(sql<boolean>`source = 'meter'`);
}

export async function findMeterEvent(db: TenantDb, id: string): Promise<MeterEventRow | undefined> {
  return selectMeterEvents(db).where('id', '=', id).executeTakeFirst();
}

/** Up to one row more than the page holds, newest first. */
export async function listMeterEvents(
  db: TenantDb,
  page: PageRequest,
  { meter, smithId }: { readonly meter: string | undefined; readonly smithId: string | undefined },
): Promise<MeterEventRow[]> {
  let query = selectMeterEvents(db);
  if (meter !== undefined) query = query.where('meter', '=', meter);
  if (smithId !== undefined) query = query.where('smith_id', '=', smithId);
  return pageById(query, 'usage_entries.id', page).execute();
}
