/** Rows of organizations and their live projects. Every query on projects names the organization. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { json } from '../../../kernel/db/values.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { SystemDb } from '../../store/tenant-db.ts';
import type { JsonObject, SystemTables } from '../../tables.ts';

export type ProjectRow = Selectable<SystemTables['projects']>;

export interface NewProject {
  id: string;
  organization_id: string;
  name: string;
  metadata: JsonObject;
}

function selectProjects(db: SystemDb, organizationId: string) {
  return db
    .selectFrom('projects')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('archived_at', 'is', null);
}

export async function insertOrganization(
  db: SystemDb,
  organization: { id: string; name: string; contact_email: string | null },
): Promise<void> {
  await db.insertInto('organizations').values(organization).execute();
}

export async function changeOrganization(
  db: SystemDb,
  id: string,
  changes: { name?: string; contact_email?: string | null },
): Promise<{ name: string; contact_email: string | null }> {
  return db
    .updateTable('organizations')
    .set(changes)
    .where('id', '=', id)
    .returning(['name', 'contact_email'])
    .executeTakeFirstOrThrow();
}

/** Undefined when a live project of the organization has the name already; waits for one that is being made. */
export async function insertProject(db: SystemDb, project: NewProject): Promise<ProjectRow | undefined> {
  return db
    .insertInto('projects')
    .values({ ...project, metadata: json(project.metadata) })
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'name']).where('archived_at', 'is', null).doNothing(),
    )
    .returningAll()
    .executeTakeFirst();
}

export async function findProject(db: SystemDb, organizationId: string, id: string): Promise<ProjectRow | undefined> {
  return selectProjects(db, organizationId).where('id', '=', id).executeTakeFirst();
}

export async function findProjectByName(
  db: SystemDb,
  organizationId: string,
  name: string,
): Promise<ProjectRow | undefined> {
  return selectProjects(db, organizationId).where('name', '=', name).executeTakeFirst();
}

/** Up to one row more than the page holds. */
export async function listProjects(db: SystemDb, organizationId: string, page: PageRequest): Promise<ProjectRow[]> {
  return pageById(selectProjects(db, organizationId), 'projects.id', page).execute();
}

/** False when the organization has no such live project. */
export async function archiveProject(db: SystemDb, organizationId: string, id: string): Promise<boolean> {
  const result = await db
    .updateTable('projects')
    .set({ archived_at: sql`now()` })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}
