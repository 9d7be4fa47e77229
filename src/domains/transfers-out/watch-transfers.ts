/** Looks at transfers of names to other registrars when they are due: sends decisions, asks the registry, and tells owners. */
import { splitDue } from '../../kernel/periodic/split-due.ts';
import type { Mailer } from '../mail/index.ts';
import { type DomainRow, isUnderZones } from '../portfolio/index.ts';
import { getRegistrant } from '../registrant.ts';
import { RegistryUnavailable } from '../registry/registry.ts';
import type { Zones } from '../registry/routing-registry.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { sendDecision } from './decide-transfer.ts';
import { lookAtTransfer, nextLook, type TransferDependencies } from './look-at-transfer.ts';
import { composeTransferMail } from './transfer-mail.ts';
import { isPending } from './transfer-out.ts';

export type WatchDependencies = TransferDependencies & { readonly mailer: Mailer };

const BATCH_SIZE = 50;
/** Nobody else looks at it for so long; and before a mail that was not accepted is sent again. */
const CLAIM_MS = 300_000;

/** Those of these zones that are due, once. Any number of processes may do so at a time. */
export async function watchTransfers(
  deps: WatchDependencies,
  zones: Zones,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { due, nextInMs } = await listDue(deps, zones);
  for (const { id, workspace_id: workspaceId } of due) {
    if (signal.aborted) return undefined;
    const row = await claim(deps, workspaceId, id);
    if (row === undefined) continue;
    try {
      await look(deps, row);
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      deps.logger.warn({ reason: error.message }, 'the registry cannot be asked about transfers now');
      return undefined;
    }
  }
  return nextInMs;
}

async function look(deps: WatchDependencies, row: DomainRow): Promise<void> {
  const { transfer_out: transfer } = row;
  if (transfer !== null && isPending(transfer) && transfer.decision !== null) {
    await sendDecision(deps, row, transfer.decision);
  } else {
    await lookAtTransfer(deps, row);
  }
  await tellOwner(deps, row);
}

/** Of the state that the transfer is in by now. A mail that is not accepted is sent again with the next look. */
async function tellOwner({ clock, db, logger, mailer }: WatchDependencies, { id, name, workspace_id }: DomainRow) {
  const scoped = workspaceDb(db, workspace_id);
  const row = await scoped.selectFrom('domains').selectAll().where('id', '=', id).executeTakeFirst();
  const transfer = row?.transfer_out;
  if (row?.transfer_out_untold !== true || transfer === undefined || transfer === null) return;
  try {
    await mailer.send(composeTransferMail(await getRegistrant(scoped), name, transfer));
  } catch (error) {
    logger.error({ err: error, domain: name }, 'an owner was not told of a transfer; it is tried again');
    const again = new Date(clock.now().getTime() + CLAIM_MS);
    await scoped.updateTable('domains').set({ transfer_out_look_at: again }).where('id', '=', id).execute();
    return;
  }
  // Another state by now is told with the look that found it.
  await db.query({
    text: `update domains.domains set transfer_out_untold = false, transfer_out_look_at = $5
      where workspace_id = $1 and id = $2 and transfer_out ->> 'state' = $3 and transfer_out ->> 'requestedAt' = $4`,
    values: [workspace_id, id, transfer.state, transfer.requestedAt, nextLook(transfer, row.state, clock.now())],
  });
}

/** Also of a name that is gone by now, whose owner is still to be told. */
async function listDue({ clock, db }: WatchDependencies, zones: Zones) {
  const now = clock.now();
  const rows = await systemDb(db)
    .selectFrom('domains')
    .select(['id', 'workspace_id', 'transfer_out_look_at'])
    .where('transfer_out_look_at', 'is not', null)
    .where(isUnderZones(zones))
    .orderBy('transfer_out_look_at')
    .limit(BATCH_SIZE)
    .execute();
  return splitDue(rows, (row) => row.transfer_out_look_at, now);
}

/** Undefined: another process has it. */
function claim({ clock, db }: WatchDependencies, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const now = clock.now();
  return workspaceDb(db, workspaceId)
    .updateTable('domains')
    .set({ transfer_out_look_at: new Date(now.getTime() + CLAIM_MS) })
    .where('id', '=', id)
    .where('transfer_out_look_at', '<=', now)
    .returningAll()
    .executeTakeFirst();
}
