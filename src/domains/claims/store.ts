/** Rows of notices. */
import type { Selectable } from 'kysely';
import { json } from '../../kernel/db/values.ts';
import type { WorkspaceTables } from '../tables.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';

export type NoticeRow = Selectable<WorkspaceTables['claims_notices']>;

/** The one that ends last of those that the workspace was shown of the name, by this key, and can still accept. */
export async function findShownNotice(
  db: WorkspaceDb,
  shown: { readonly name: string; readonly lookupKey: string; readonly now: Date },
): Promise<NoticeRow | undefined> {
  return db
    .selectFrom('claims_notices')
    .selectAll()
    .where('name', '=', shown.name)
    .where('lookup_key', '=', shown.lookupKey)
    .where('not_after', '>', shown.now)
    .orderBy('not_after', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export async function findNotice(db: WorkspaceDb, id: string): Promise<NoticeRow | undefined> {
  return db.selectFrom('claims_notices').selectAll().where('notice_id', '=', id).executeTakeFirst();
}

/** What an order of the workspace waits for: its registry has said by which key the notice of the name is found. */
export async function findWantedKey(db: WorkspaceDb, name: string): Promise<string | undefined> {
  const order = await db
    .selectFrom('orders')
    .select('notice_lookup_key')
    .where('name', '=', name)
    .where('notice_until', 'is not', null)
    .executeTakeFirst();
  return order?.notice_lookup_key ?? undefined;
}

/** One that is there already stays as it was shown first. */
export async function insertNotice(db: WorkspaceDb, row: Omit<NoticeRow, 'workspace_id'>): Promise<void> {
  await db
    .insertInto('claims_notices')
    .values({ ...row, claims: json(row.claims) })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'notice_id']).doNothing())
    .execute();
}

export async function removeEndedNotices(db: SystemDb, now: Date): Promise<void> {
  await db.deleteFrom('claims_notices').where('not_after', '<=', now).execute();
}
