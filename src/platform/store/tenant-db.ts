/** The one way a resource reaches tenant rows: a handle that adds the project to every query by itself. */
import type { Kysely } from 'kysely';
import type { Executor } from '../../kernel/db/database.ts';
import { scoped, unscoped } from '../../kernel/db/kysely.ts';
import { type SystemTables, type TenantTables, tenantTables } from '../tables.ts';

export type TenantDb = Kysely<TenantTables>;
export type SystemDb = Kysely<SystemTables>;

/** Queries over one project's rows, inside `executor`'s transaction when it is one. */
export function tenantDb(executor: Executor, projectId: string): TenantDb {
  return scoped<TenantTables>(executor, { column: 'project_id', value: projectId, tables: tenantTables });
}

/** Queries over organizations, projects and signing keys, which stand above tenants. */
export function systemDb(executor: Executor): SystemDb {
  return unscoped<SystemTables>(executor);
}
