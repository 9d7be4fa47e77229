/** What the renewal of a term reads of renewal orders. */
import { type Selectable, sql } from 'kysely';
import type { WorkspaceTables } from '../tables.ts';
import type { WorkspaceDb } from '../workspace-scope.ts';

/** A renewal, bought or tried. */
export type RenewalOrder = Pick<
  Selectable<WorkspaceTables['orders']>,
  'id' | 'state' | 'origin' | 'years' | 'from_expires_at' | 'error_message' | 'ended_at'
>;

/**
 * The order that says how the renewal of the current term stands: the one under way, of which there is at most one; else
 * the one of the latest term, bought or refused to auto-renew. A refusal to a request is its caller's concern alone.
 */
export async function findRenewalOrder(db: WorkspaceDb, domainId: string): Promise<RenewalOrder | undefined> {
  return db
    .selectFrom('orders')
    .select(['id', 'state', 'origin', 'years', 'from_expires_at', 'error_message', 'ended_at'])
    .where('domain_id', '=', domainId)
    .where('kind', '=', 'renewal')
    .where((or) => or.or([or('state', '<>', 'failed'), or('origin', '=', 'auto_renew')]))
    .orderBy(sql`state in ('completed', 'failed')`)
    .orderBy('from_expires_at', (order) => order.desc().nullsLast())
    .orderBy(sql`state = 'failed'`)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** How often the registry has refused auto-renew the term that ends then. */
export async function countRefusals(db: WorkspaceDb, domainId: string, expiresAt: Date | null): Promise<number> {
  const { refusals } = await db
    .selectFrom('orders')
    .select(({ fn }) => fn.countAll<number>().as('refusals'))
    .where('domain_id', '=', domainId)
    .where('kind', '=', 'renewal')
    .where('origin', '=', 'auto_renew')
    .where('state', '=', 'failed')
    .where('from_expires_at', '=', expiresAt)
    .executeTakeFirstOrThrow();
  return refusals;
}
