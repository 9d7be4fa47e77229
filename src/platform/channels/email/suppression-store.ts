/** Addresses that get no mail of the project's any more. */
import type { Selectable } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

const COLUMNS = ['id', 'address', 'reason', 'created_at'] as const;

export type SuppressionRow = Pick<Selectable<TenantTables['email_suppressions']>, (typeof COLUMNS)[number]>;

export async function findSuppression(db: TenantDb, address: string): Promise<SuppressionRow | undefined> {
  return db.selectFrom('email_suppressions').select(COLUMNS).where('address', '=', address).executeTakeFirst();
}

/** Newest first. */
export async function listSuppressions(db: TenantDb, page: PageRequest): Promise<SuppressionRow[]> {
  return pageById(db.selectFrom('email_suppressions').select(COLUMNS), 'email_suppressions.id', page).execute();
}

/** One that is there keeps its reason, unless this brings another. `isNew`: nobody had suppressed it. */
export async function suppressAddress(
  db: TenantDb,
  address: string,
  reason: string | null,
): Promise<{ readonly row: SuppressionRow; readonly isNew: boolean }> {
  const id = mintId('sup');
  const row = await db
    .insertInto('email_suppressions')
    .values({ id, address, reason })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'address']).doUpdateSet((set) => ({
        reason: set.fn.coalesce('excluded.reason', 'email_suppressions.reason'),
      })),
    )
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
  return { row, isNew: row.id === id };
}

/** Whether it was there. */
export async function removeSuppression(db: TenantDb, address: string): Promise<boolean> {
  const removed = await db.deleteFrom('email_suppressions').where('address', '=', address).executeTakeFirst();
  return removed.numDeletedRows > 0n;
}
