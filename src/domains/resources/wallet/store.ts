/** Movements of a wallet as its owner sees them: of each booking, what it did to the workspace's own two accounts. */
import { type Selectable, sql } from 'kysely';
import type { WorkspaceTables } from '../../tables.ts';
import type { WorkspaceDb } from '../../workspace-scope.ts';

export type MovementRow = Selectable<WorkspaceTables['ledger_transactions']> & {
  readonly available_cents: number;
  readonly held_cents: number;
};

/** Undefined where the wallet has no such movement. */
export async function findPlace(db: WorkspaceDb, id: string): Promise<{ readonly id: string } | undefined> {
  return db.selectFrom('ledger_transactions').select('id').where('id', '=', id).executeTakeFirst();
}

/** Newest first, those older than the movement `after`. Nothing is ever removed, so `after` keeps its place. */
export async function listMovements(db: WorkspaceDb, after: string | undefined, limit: number): Promise<MovementRow[]> {
  let page = db.selectFrom('ledger_transactions').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc');
  if (after !== undefined) {
    page = page.where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('created_at', 'id'),
        '<',
        selectFrom('ledger_transactions')
          .select(['created_at', 'id'])
          .where('id', '=', after)
          .$asTuple('created_at', 'id'),
      ),
    );
  }
  const rows = await page.limit(limit).execute();
  const ids = rows.map(({ id }) => id);
  const changes = await db
    .selectFrom('ledger_entries')
    .select(['transaction_id', 'account', 'amount_cents'])
    .where(sql<boolean>`transaction_id = any(${ids}::text[])`)
    .where('account', 'in', ['available', 'held'])
    .execute();
  const changeOf = (id: string, account: string) =>
    changes.find((entry) => entry.transaction_id === id && entry.account === account)?.amount_cents ?? 0;
  return rows.map((row) => ({
    ...row,
    available_cents: changeOf(row.id, 'available'),
    held_cents: changeOf(row.id, 'held'),
  }));
}
