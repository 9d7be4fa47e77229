/** Rows of sandbox secrets. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

/** Without the sealed value: only the box's own folder, which opens it, reads that. */
export type SandboxSecretRow = Pick<Selectable<TenantTables['sandbox_secrets']>, 'name' | 'updated_at'>;

export async function listSandboxSecrets(db: TenantDb): Promise<SandboxSecretRow[]> {
  return db.selectFrom('sandbox_secrets').select(['name', 'updated_at']).orderBy(sql`name collate "C"`).execute();
}

/** How many secrets of other names there are. */
export async function countOtherSecrets(db: TenantDb, name: string): Promise<number> {
  const row = await db
    .selectFrom('sandbox_secrets')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('name', '<>', name)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/** Inserts the secret, or replaces the one of that name. */
export async function putSandboxSecret(db: TenantDb, name: string, sealedValue: string): Promise<void> {
  await db
    .insertInto('sandbox_secrets')
    .values({ name, sealed_value: sealedValue })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'name']).doUpdateSet({ sealed_value: sealedValue, updated_at: sql<Date>`now()` }),
    )
    .execute();
}

/** False when there is no such secret. */
export async function removeSandboxSecret(db: TenantDb, name: string): Promise<boolean> {
  const result = await db.deleteFrom('sandbox_secrets').where('name', '=', name).executeTakeFirst();
  return result.numDeletedRows > 0n;
}
