/** What the registry says of a name, written into its row. */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { closeZone } from '../dns/index.ts';
import type { Registry, RegistryDomain } from '../registry/registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { type DomainRow, findDomainById, lockDomain } from './store.ts';

interface Place {
  readonly workspaceId: string;
  readonly domainId: string;
  /** ASCII. */
  readonly name: string;
}

/** Updates the row of a name that is ours from the registry's answer. */
export async function recordInfo(tx: Transaction, place: Place, info: RegistryDomain, now: Date): Promise<void> {
  await workspaceDb(tx, place.workspaceId)
    .updateTable('domains')
    .set({ state: 'active', snapshot: json(info), synced_at: now, expires_at: new Date(info.expiresAt) })
    .where('id', '=', place.domainId)
    .where('state', '<>', 'gone')
    .execute();
}

/** Takes the name out of the portfolio: it is not ours any more, or never became ours. Its zone goes with it. */
export async function retireDomain(tx: Transaction, place: Place, now: Date): Promise<void> {
  await workspaceDb(tx, place.workspaceId)
    .updateTable('domains')
    .set({ state: 'gone', gone_at: now, auto_renew: false })
    .where('id', '=', place.domainId)
    .execute();
  await closeZone(tx, place);
}

/**
 * Asks the registry about a name of the portfolio and records the answer. The row afterwards; undefined when the name has
 * left the portfolio. Throws `RegistryUnavailable`. A name that the registry has never reported stays, without a snapshot,
 * unless it was deleted.
 */
export async function syncDomain(
  parts: { readonly db: Database; readonly registry: Registry; readonly now: Date },
  row: DomainRow,
): Promise<DomainRow | undefined> {
  const { db, registry, now } = parts;
  // A name that is being acquired is updated by its order alone.
  if (row.state !== 'active') return row;
  const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
  const info = await registry.info(row.name);
  const isDeleted = row.release_at !== null && row.release_at <= now;
  const isOurs = info?.isOurs === true && !info.statuses.includes('pendingCreate');
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    // Recorded meanwhile by another process: this answer may be older.
    if (held?.synced_at?.getTime() !== row.synced_at?.getTime()) return held?.state === 'gone' ? undefined : held;
    if (isOurs) await recordInfo(tx, place, info, now);
    else if (row.snapshot !== null || isDeleted) await retireDomain(tx, place, now);
    else await scoped.updateTable('domains').set({ synced_at: now }).where('id', '=', row.id).execute();
    const after = await findDomainById(scoped, row.id);
    return after?.state === 'gone' ? undefined : after;
  });
}
