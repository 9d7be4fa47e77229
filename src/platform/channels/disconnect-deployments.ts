import { sql } from 'kysely';
import type { TenantDb } from '../store/tenant-db.ts';
import type { MessagingKind } from '../tables.ts';

/** Nobody is reached there any more: the deployments say so, until they are deleted. */
export async function disconnectDeployments(
  db: TenantDb,
  target: { readonly type: 'smith' | 'agent'; readonly id: string },
): Promise<void> {
  await db
    .updateTable('deployments')
    .set({ status: 'disconnected', updated_at: sql<Date>`now()` })
    .where(target.type === 'smith' ? 'smith_id' : 'agent_id', '=', target.id)
    .execute();
}

/** The project's account of the kind is gone; a deployment that has an account of its own stays. */
export async function disconnectKind(db: TenantDb, kind: MessagingKind): Promise<void> {
  await db
    .updateTable('deployments')
    .set({ status: 'disconnected', updated_at: sql<Date>`now()` })
    .where('kind', '=', kind)
    .where('account_id', '=', '')
    .execute();
}
