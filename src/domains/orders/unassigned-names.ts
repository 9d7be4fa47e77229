/** Names that are with our registrar account and in no portfolio: an order came upon them, and an operator says whose they are. */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { openZone } from '../dns/index.ts';
import { insertAcquisition } from '../portfolio/index.ts';
import type { RegistryDomain } from '../registry/registry.ts';
import { type SystemDb, systemDb, workspaceDb } from '../workspace-scope.ts';
import type { OrderDependencies } from './dependencies.ts';

interface FoundName {
  readonly name: string;
  readonly registryId: string;
  /** Undefined: the registry does not show it. */
  readonly expiresAt: string | undefined;
  readonly orderId: string;
}

/** Repeating it changes nothing. */
export async function noteUnassigned(
  { db, clock, logger }: Pick<OrderDependencies, 'db' | 'clock' | 'logger'>,
  { name, registryId, expiresAt, orderId }: FoundName,
): Promise<void> {
  const ends = expiresAt === undefined ? null : new Date(expiresAt);
  const row = { name, registry_id: registryId, expires_at: ends, found_at: clock.now(), order_id: orderId };
  await systemDb(db)
    .insertInto('unassigned_names')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  logger.error(
    { domain: name, order: orderId },
    'a name is with our registrar account and in no portfolio; see `ironcraft domains name unassigned`',
  );
}

export async function isUnassigned(db: SystemDb, name: string): Promise<boolean> {
  const found = await db.selectFrom('unassigned_names').select('name').where('name', '=', name).executeTakeFirst();
  return found !== undefined;
}

/** Oldest find first; not those that a workspace has by now. */
export function listUnassigned(db: SystemDb, limit: number) {
  return db
    .selectFrom('unassigned_names')
    .selectAll()
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('domains')
            .select('domains.id')
            .whereRef('domains.name', '=', 'unassigned_names.name')
            .where('domains.state', '<>', 'gone'),
        ),
      ),
    )
    .orderBy('found_at')
    .orderBy('name')
    .limit(limit)
    .execute();
}

/**
 * Puts an unassigned name into a portfolio, paid for until its term ends; the next sweep asks the registry about it. Null: no such name
 * is unassigned. `endless`: the registry has not shown when its term ends, and nothing is done.
 */
export async function assignName(
  db: Database,
  name: string,
  workspaceId: string,
): Promise<{ readonly id: string } | 'endless' | null> {
  return db.transaction(async (tx: Transaction) => {
    const found = await systemDb(tx)
      .selectFrom('unassigned_names')
      .select('expires_at')
      .where('name', '=', name)
      .forUpdate()
      .executeTakeFirst();
    if (found === undefined) return null;
    if (found.expires_at === null) return 'endless';
    await systemDb(tx).deleteFrom('unassigned_names').where('name', '=', name).execute();
    return insertAssigned(tx, { name, workspaceId, until: found.expires_at });
  });
}

interface Adoption {
  readonly name: string;
  readonly workspaceId: string;
  /** As the registry shows it. */
  readonly info: RegistryDomain;
  readonly paidUntil: Date;
}

/** Puts a name that the registry has just shown as ours into a portfolio; the next sweep asks about it again. False: it is in one already. */
export async function adoptName(db: Database, { info, name, paidUntil, workspaceId }: Adoption): Promise<boolean> {
  return db.transaction(async (tx) => {
    const inserted = await insertAssigned(tx, { name, workspaceId, until: paidUntil });
    if (inserted === null) return false;
    await systemDb(tx).deleteFrom('unassigned_names').where('name', '=', name).execute();
    await workspaceDb(tx, workspaceId)
      .updateTable('domains')
      // Read again with the next sweep.
      .set({ whois_privacy: info.isPrivate, snapshot: json(info) })
      .where('id', '=', inserted.id)
      .execute();
    return true;
  });
}

/** Null: it is in a portfolio already. */
async function insertAssigned(
  tx: Transaction,
  { name, until, workspaceId }: { readonly name: string; readonly workspaceId: string; readonly until: Date },
): Promise<{ readonly id: string } | null> {
  const scoped = workspaceDb(tx, workspaceId);
  const id = mintId('dom');
  if (!(await insertAcquisition(scoped, { id, name, added_via: 'transfer', renewal_fee: null }))) return null;
  await scoped
    .updateTable('domains')
    .set({ state: 'active', expires_at: until, billed_until: until })
    .where('id', '=', id)
    .execute();
  await openZone(tx, { workspaceId, domainId: id, name });
  return { id };
}
