/** What an operator does about names that are missing, or were retired: see missing-names.ts. */
import type { Executor, Transaction } from '../../kernel/db/database.ts';
import { keepZoneOpen } from '../dns/index.ts';
import { chargeRefunded, readRefunded } from '../wallet/index.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { notMissing } from './missing-names.ts';
import { KEPT_MS, retireDomain } from './record-info.ts';
import { type DomainRow, findDomainById, findOwner, lockDomain } from './store.ts';

/** What the row of a name has that nobody has asked to be deleted. */
const notDeleted = { deletion_sent_at: null, deletion_wanted_at: null, deletion_look_at: null } as const;

/** What became of it before is no explanation of what may come. */
const notTransferred = { transfer_out: null, transfer_out_untold: false, transfer_out_look_at: null } as const;

export type BroughtBack =
  | { readonly kind: 'done'; readonly row: DomainRow; readonly chargedCents: number }
  | { readonly kind: 'never_here' | 'too_late' }
  /** What it cost was paid back: that is charged again, once the registry has shown that the name is ours. */
  | { readonly kind: 'unconfirmed' }
  /** The wallet does not cover that. */
  | { readonly kind: 'not_covered'; readonly workspaceId: string; readonly cents: number }
  /** A workspace has the name, or is acquiring it. */
  | { readonly kind: 'taken'; readonly workspaceId: string };

/**
 * Puts the name back into the portfolio that had it last, with its zone; the next sweep asks the registry about it. Within 60 days of
 * its retirement. `isShown`: the registry has just said that it is ours.
 */
export async function bringBack(
  tx: Transaction,
  name: string,
  { isShown, now }: { readonly isShown: boolean; readonly now: Date },
): Promise<BroughtBack> {
  const owner = await findOwner(systemDb(tx), name);
  if (owner !== undefined) return { kind: 'taken', workspaceId: owner.workspace_id };
  const last = await findLast(tx, name);
  if (last === undefined) return { kind: 'never_here' };
  if (last.gone_at === null || last.gone_at.getTime() < now.getTime() - KEPT_MS) return { kind: 'too_late' };
  const db = workspaceDb(tx, last.workspace_id);
  // Whoever was quicker has put it back.
  if ((await lockDomain(db, last.id))?.state !== 'gone') return { kind: 'taken', workspaceId: last.workspace_id };
  const place = { workspaceId: last.workspace_id, domainId: last.id, name };
  const chargedCents = await readRefunded(tx, place);
  if (chargedCents > 0 && !isShown) return { kind: 'unconfirmed' };
  if (!(await chargeRefunded(tx, place))) {
    return { kind: 'not_covered', workspaceId: last.workspace_id, cents: chargedCents };
  }
  await db
    .updateTable('domains')
    .set({ state: 'active', gone_at: null, synced_at: null, ...notMissing, ...notDeleted, ...notTransferred })
    .where('id', '=', last.id)
    .execute();
  await keepZoneOpen(tx, place);
  return { kind: 'done', row: (await findDomainById(db, last.id)) ?? last, chargedCents };
}

/** One that never became ours was never reported, nor sold. */
function findLast(executor: Executor, name: string): Promise<DomainRow | undefined> {
  return systemDb(executor)
    .selectFrom('domains')
    .selectAll()
    .where('name', '=', name)
    .where('state', '=', 'gone')
    .where('billed_until', 'is not', null)
    .orderBy('gone_at', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Whose name it was, and what it cost that its owner has back; undefined: nothing, or it cannot be brought back any more. */
export async function findPaidBack(
  executor: Executor,
  name: string,
  now: Date,
): Promise<{ readonly workspaceId: string; readonly cents: number } | undefined> {
  const last = await findLast(executor, name);
  if (last?.gone_at == null || last.gone_at.getTime() < now.getTime() - KEPT_MS) return undefined;
  const { id: domainId, workspace_id: workspaceId } = last;
  const cents = await readRefunded(executor, { workspaceId, domainId, name });
  return cents === 0 ? undefined : { workspaceId, cents };
}

/** Retires a missing name without waiting for its day; undefined where no name of that kind is missing. */
export async function retireByHand(tx: Transaction, name: string, now: Date): Promise<DomainRow | undefined> {
  const owner = await findOwner(systemDb(tx), name);
  if (owner === undefined) return undefined;
  const { workspace_id: workspaceId, id: domainId } = owner;
  const row = await lockDomain(workspaceDb(tx, workspaceId), domainId);
  if (row?.state !== 'active' || row.missing_since === null) return undefined;
  // Its retirement was expected by somebody: it does not count towards the names that are missing unexpectedly.
  await workspaceDb(tx, workspaceId)
    .updateTable('domains')
    .set({ missing_announced: true })
    .where('id', '=', domainId)
    .execute();
  await retireDomain(tx, { workspaceId, domainId, name }, now);
  return row;
}
