/** Rows of a workspace's top-ups. */
import type { Selectable } from 'kysely';
import type { WorkspaceTables } from '../../tables.ts';
import type { WorkspaceDb } from '../../workspace-scope.ts';

export type TopUpRow = Selectable<WorkspaceTables['payments']>;

export async function findTopUp(db: WorkspaceDb, id: string): Promise<TopUpRow | undefined> {
  return topUpsOf(db).where('id', '=', id).executeTakeFirst();
}

/** Newest first, those older than `after`: ids are in the order in which they were made. */
export async function listTopUps(db: WorkspaceDb, after: string | undefined, limit: number): Promise<TopUpRow[]> {
  const rows = topUpsOf(db).orderBy('id', 'desc').limit(limit);
  return (after === undefined ? rows : rows.where('id', '<', after)).execute();
}

export async function countOpenTopUps(db: WorkspaceDb): Promise<number> {
  const open = await topUpsOf(db).where('state', '=', 'open').execute();
  return open.length;
}

function topUpsOf(db: WorkspaceDb) {
  return db.selectFrom('payments').selectAll().where('kind', '=', 'top_up');
}
