/** The two ways to the rows: one workspace's, or everybody's for the service's own work. */
import type { Kysely } from 'kysely';
import type { Executor } from '../kernel/db/database.ts';
import { scoped, unscoped } from '../kernel/db/kysely.ts';
import { type SystemTables, type WorkspaceTables, workspaceTables } from './tables.ts';

export type WorkspaceDb = Kysely<WorkspaceTables>;
export type SystemDb = Kysely<SystemTables>;

/** The schema that migrations/domains makes: raw SQL has to name it. */
const SCHEMA = 'domains';

/** Queries over one workspace's rows, inside `executor`'s transaction when it is one. */
export function workspaceDb(executor: Executor, workspaceId: string): WorkspaceDb {
  const scope = { column: 'workspace_id', value: workspaceId, tables: workspaceTables, schema: SCHEMA };
  return scoped<WorkspaceTables>(executor, scope);
}

/** Queries over all rows: sign-up, the scheduler, publishers and audits. Never for a caller's request. */
export function systemDb(executor: Executor): SystemDb {
  return unscoped<SystemTables>(executor, SCHEMA);
}
