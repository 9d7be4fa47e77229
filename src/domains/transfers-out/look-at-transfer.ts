/** Asks the registry about a name's transfer, and writes down what it says. */
import { json } from '../../kernel/db/values.ts';
import type { OrderDependencies } from '../orders/index.ts';
import { type DomainRow, findDomainById, lockDomain, syncDomain } from '../portfolio/index.ts';
import type { TransferOut } from '../tables.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { tellTransfer } from './tell-transfer.ts';
import { isPending, mergeTransferOut, readTransferOut } from './transfer-out.ts';

export type TransferDependencies = Pick<OrderDependencies, 'db' | 'clock' | 'registry' | 'logger'>;

const MINUTE_MS = 60_000;
/** Between two looks at a transfer that waits for its owner, or for the registry. */
const LOOK_MS = 60 * MINUTE_MS;
/** After the registry should have approved it. */
const AFTER_TERM_MS = 15 * MINUTE_MS;
/** Before a decision that got no answer is sent again. */
export const DECIDE_AGAIN_MS = MINUTE_MS;

/** The row afterwards, also of a name that has left the portfolio. Throws `RegistryUnavailable`. */
export async function lookAtTransfer(
  { clock, db, logger, registry }: TransferDependencies,
  row: DomainRow,
): Promise<DomainRow | undefined> {
  const now = clock.now();
  const seen = await readTransferOut(registry, row.name, row.transfer_out, now);
  const after = await db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    if (held === undefined) return undefined;
    const transfer = mergeTransferOut(held.transfer_out, seen, now);
    const isNew = transfer !== held.transfer_out;
    const isUntold = held.transfer_out_untold || transfer?.state !== held.transfer_out?.state;
    await scoped
      .updateTable('domains')
      .set({
        ...(isNew && transfer !== null ? { transfer_out: json(transfer) } : {}),
        transfer_out_untold: isUntold,
        transfer_out_look_at: isUntold ? now : nextLook(transfer, held.state, now),
      })
      .where('id', '=', row.id)
      .execute();
    if (transfer !== null && transfer.state !== held.transfer_out?.state) {
      await tellTransfer(tx, row, transfer);
    }
    if (isNew) {
      logger.info(
        { domain: row.name, state: transfer?.state, by: transfer?.requestedBy },
        'another registrar’s transfer of a name',
      );
    }
    return findDomainById(scoped, row.id);
  });
  if (after?.transfer_out?.state !== 'approved' || after.state !== 'active') return after;
  return syncDomain({ db, registry, now }, after, { isAnnounced: true });
}

/** At a transfer of which its owner has been told; null: never again. */
export function nextLook(transfer: TransferOut | null, state: DomainRow['state'], now: Date): Date | null {
  if (state === 'gone' || transfer === null || !isPending(transfer)) return null;
  if (transfer.decision !== null) return new Date(now.getTime() + DECIDE_AGAIN_MS);
  const soon = now.getTime() + LOOK_MS;
  if (transfer.actsAt === null) return new Date(soon);
  const actsAt = new Date(transfer.actsAt).getTime();
  return new Date(actsAt > now.getTime() ? Math.min(soon, actsAt + MINUTE_MS) : now.getTime() + AFTER_TERM_MS);
}
