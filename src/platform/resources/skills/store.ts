/** Rows of skills and their versions. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import { type FittedPage, fitPage, type SizedRow } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

export type SkillRow = Omit<Selectable<TenantTables['skills']>, 'project_id'> & { readonly description: string };
export type SkillVersionRow = Omit<Selectable<TenantTables['skill_versions']>, 'project_id'> & {
  readonly name: string;
};
export type NewVersion = Omit<Selectable<TenantTables['skill_versions']>, 'project_id' | 'created_at'>;
export type LockedSkill = Pick<SkillRow, 'id' | 'name' | 'default_version' | 'latest_version'>;

/** From where, and in which direction: `limit + 1` rows. */
interface Scan<Place> {
  readonly limit: number;
  readonly from: Place | undefined;
  readonly direction: 'asc' | 'desc';
}

function selectSkills(db: TenantDb) {
  return db
    .selectFrom('skills')
    .innerJoin('skill_versions', (join) =>
      join
        .onRef('skill_versions.project_id', '=', 'skills.project_id')
        .onRef('skill_versions.skill_id', '=', 'skills.id')
        .onRef('skill_versions.version', '=', 'skills.default_version'),
    )
    .select([
      'skills.id',
      'skills.name',
      'skills.default_version',
      'skills.latest_version',
      'skills.created_at',
      'skills.updated_at',
      'skill_versions.description',
    ]);
}

/** False when a skill has the name; waits for one that is just being made. */
export async function insertSkill(db: TenantDb, id: string, name: string): Promise<boolean> {
  const row = await db
    .insertInto('skills')
    .values({ id, name, default_version: 1, latest_version: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function findSkill(db: TenantDb, id: string): Promise<SkillRow | undefined> {
  return selectSkills(db).where('skills.id', '=', id).executeTakeFirst();
}

/** In the order of their ids, which is that of their making. */
export async function listSkills(db: TenantDb, scan: Scan<string>): Promise<SkillRow[]> {
  const id = sql<string>`skills.id collate "C"`;
  let skills = selectSkills(db);
  if (scan.from !== undefined) skills = skills.where(id, scan.direction === 'asc' ? '>' : '<', scan.from);
  return skills
    .orderBy(id, scan.direction)
    .limit(scan.limit + 1)
    .execute();
}

/** Holds the skill until the transaction ends: against other changes, and against configurations that come to name it. */
export async function lockSkill(db: TenantDb, id: string): Promise<LockedSkill | undefined> {
  return db
    .selectFrom('skills')
    .select(['id', 'name', 'default_version', 'latest_version'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export async function updateSkill(
  db: TenantDb,
  id: string,
  change: { readonly default_version?: number; readonly latest_version?: number },
): Promise<void> {
  await db
    .updateTable('skills')
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/** With all its versions, which are told. */
export async function removeSkill(db: TenantDb, id: string): Promise<RemovedArchive[]> {
  const removed = await db.deleteFrom('skill_versions').where('skill_id', '=', id).returning(ARCHIVE).execute();
  await db.deleteFrom('skills').where('id', '=', id).execute();
  return removed;
}

const ARCHIVE = ['archive_id', 'archive_bytes'] as const;
export type RemovedArchive = Pick<SkillVersionRow, (typeof ARCHIVE)[number]>;

export async function insertVersion(db: TenantDb, version: NewVersion): Promise<void> {
  const { metadata, files, ...rest } = version;
  await db
    .insertInto('skill_versions')
    .values({ ...rest, metadata: metadata === null ? null : json(metadata), files: json(files) })
    .execute();
}

function selectVersions(db: TenantDb, skillId: string) {
  return db
    .selectFrom('skill_versions')
    .innerJoin('skills', (join) =>
      join
        .onRef('skills.project_id', '=', 'skill_versions.project_id')
        .onRef('skills.id', '=', 'skill_versions.skill_id'),
    )
    .select([
      'skills.name',
      'skill_versions.skill_id',
      'skill_versions.version',
      'skill_versions.description',
      'skill_versions.license',
      'skill_versions.compatibility',
      'skill_versions.metadata',
      'skill_versions.files',
      'skill_versions.bytes',
      'skill_versions.archive_id',
      'skill_versions.archive_bytes',
      'skill_versions.archive_sha256',
      'skill_versions.created_at',
    ])
    .where('skill_versions.skill_id', '=', skillId);
}

export async function findVersion(
  db: TenantDb,
  skillId: string,
  version: number,
): Promise<SkillVersionRow | undefined> {
  return selectVersions(db, skillId).where('skill_versions.version', '=', version).executeTakeFirst();
}

/** As far as they fit into a page. */
export async function listVersions(
  db: TenantDb,
  skillId: string,
  scan: Scan<number>,
): Promise<FittedPage<SkillVersionRow & SizedRow>> {
  let versions = selectVersions(db, skillId).select(sql<number>`octet_length(skill_versions.files::text)`.as('size'));
  if (scan.from !== undefined) {
    versions = versions.where('skill_versions.version', scan.direction === 'asc' ? '>' : '<', scan.from);
  }
  const page = versions.orderBy('skill_versions.version', scan.direction).limit(scan.limit + 1);
  return fitPage(db, page, { by: ['version'], direction: scan.direction });
}

export interface NamedVersion {
  readonly skill_id: string;
  /** The version that is named; null: whichever is the default one. */
  readonly wanted: number | null;
  /** Null, like the rest: it is not there. */
  readonly version: number | null;
  readonly name: string | null;
  readonly description: string | null;
}

/** In their order, each found or not. */
export async function listNamedVersions(
  db: TenantDb,
  named: readonly { readonly skill_id: string; readonly version?: number }[],
): Promise<NamedVersion[]> {
  const { rows } = await db.raw<NamedVersion>({
    text: `
      select named.skill_id, named.wanted, v.version, s.name, v.description
      from unnest($2::text[], $3::int[]) with ordinality as named (skill_id, wanted, position)
      left join skills s on s.project_id = $1 and s.id = named.skill_id
      left join skill_versions v on v.project_id = $1 and v.skill_id = s.id
        and v.version = coalesce(named.wanted, s.default_version)
      order by named.position`,
    values: [named.map(({ skill_id }) => skill_id), named.map(({ version }) => version ?? null)],
  });
  return rows;
}

export async function removeVersion(
  db: TenantDb,
  skillId: string,
  version: number,
): Promise<RemovedArchive | undefined> {
  return db
    .deleteFrom('skill_versions')
    .where('skill_id', '=', skillId)
    .where('version', '=', version)
    .returning(ARCHIVE)
    .executeTakeFirst();
}
