/** Rows of schedules. Every query is already scoped to one project by the handle that it is given. */
import type { Selectable } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { json } from '../../../kernel/db/values.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject, TenantTables } from '../../tables.ts';

const COLUMNS = [
  'id',
  'name',
  'cron',
  'timezone',
  'input',
  'thread_id',
  'enabled',
  'next_fire_at',
  'last_fire_at',
  'waiting',
  'last_delivery',
  'created_at',
  'updated_at',
] as const;

export type ScheduleRow = Pick<Selectable<TenantTables['schedules']>, (typeof COLUMNS)[number]>;

/** What callers set, and when it fires next as it is set. */
export interface ScheduleState {
  readonly name: string | null;
  readonly cron: string;
  readonly timezone: string;
  readonly input: readonly JsonObject[];
  readonly thread_id: string | null;
  readonly enabled: boolean;
  readonly next_fire_at: Date | null;
}

export async function isLiveSmith(db: TenantDb, smithId: string): Promise<boolean> {
  const found = db.selectFrom('smiths').select('id').where('id', '=', smithId).where('archived_at', 'is', null);
  return (await found.executeTakeFirst()) !== undefined;
}

export async function countSchedules(db: TenantDb, smithId: string): Promise<number> {
  const { rows } = await db.raw<{ count: number }>({
    text: 'select count(*)::int as count from schedules where project_id = $1 and smith_id = $2',
    values: [smithId],
  });
  return rows[0]?.count ?? 0;
}

export async function listSchedules(db: TenantDb, smithId: string, page: PageRequest): Promise<ScheduleRow[]> {
  const all = db.selectFrom('schedules').select(COLUMNS).where('smith_id', '=', smithId);
  return pageById(all, 'schedules.id', page).execute();
}

/** Nobody else changes the row until the transaction ends. Undefined also where the smith is archived. */
export async function holdSchedule(db: TenantDb, smithId: string, id: string): Promise<ScheduleRow | undefined> {
  if (!(await isLiveSmith(db, smithId))) return undefined;
  return db
    .selectFrom('schedules')
    .select(COLUMNS)
    .where('smith_id', '=', smithId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export async function insertSchedule(
  db: TenantDb,
  place: { readonly id: string; readonly smithId: string; readonly at: Date },
  state: ScheduleState,
): Promise<ScheduleRow> {
  const { id, smithId, at } = place;
  return db
    .insertInto('schedules')
    .values({
      ...state,
      id,
      smith_id: smithId,
      input: json(state.input),
      last_fire_at: null,
      created_at: at,
      updated_at: at,
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

export async function updateSchedule(db: TenantDb, id: string, state: ScheduleState, at: Date): Promise<ScheduleRow> {
  return db
    .updateTable('schedules')
    .set({ ...state, input: json(state.input), updated_at: at })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** With its deliveries, those that wait too. False when there is no such schedule. */
export async function removeSchedule(db: TenantDb, smithId: string, id: string): Promise<boolean> {
  if ((await holdSchedule(db, smithId, id)) === undefined) return false;
  await db.deleteFrom('schedules').where('id', '=', id).execute();
  return true;
}
