/** Sends deletions again whose answer did not come, until the registry has taken or refused them. */

import { toUnicode } from 'tr46';
import { splitDue } from '../../kernel/periodic/split-due.ts';
import type { Mailer } from '../mail/index.ts';
import { type DomainRow, isUnderZones } from '../portfolio/index.ts';
import { getRegistrant } from '../registrant.ts';
import type { Zones } from '../registry/routing-registry.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { type DeletionDependencies, type DeletionEnd, SENDING_MS, sendDeletion } from './delete-name.ts';

export type ResendDependencies = DeletionDependencies & { readonly mailer: Mailer };

const BATCH_SIZE = 20;

/** Those of these zones that are due, once. Any number of processes may do so at a time. */
export async function resendDeletions(
  deps: ResendDependencies,
  zones: Zones,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { due, nextInMs } = await listDue(deps, zones);
  for (const { id, workspace_id: workspaceId } of due) {
    if (signal.aborted) return undefined;
    const row = await claim(deps, workspaceId, id);
    if (row === undefined) continue;
    const end = await sendDeletion(deps, row, { wasSentBefore: true });
    // The registry does not answer: the others would wait for it in vain.
    if (end.kind === 'unknown') return undefined;
    await tellIfRefused(deps, row, end);
  }
  return nextInMs;
}

/** To an owner who was answered that the deletion is pending. */
export async function tellIfRefused(
  { db, logger, mailer }: ResendDependencies,
  row: DomainRow,
  end: DeletionEnd,
): Promise<void> {
  if (end.kind !== 'refused') return;
  logger.warn({ domain: row.name, code: end.code }, 'the registry refused a deletion whose owner was answered before');
  const owner = await getRegistrant(workspaceDb(db, row.workspace_id));
  const { domain: unicode } = toUnicode(row.name);
  const text = `Hello ${owner.name},

you asked for ${unicode} to be deleted. Its registry has refused that: the domain stays as it was, and its auto-renewal too.

See GET /domains/${row.name}. A deletion can be asked for again: DELETE /domains/${row.name}.
`;
  try {
    await mailer.send({ to: owner.email, subject: `${unicode} was not deleted`, text });
  } catch (error) {
    logger.error({ err: error, domain: row.name }, 'the owner of a name was not told that its deletion was refused');
  }
}

async function listDue({ db, clock }: ResendDependencies, zones: Zones) {
  const now = clock.now();
  const rows = await systemDb(db)
    .selectFrom('domains')
    .select(['id', 'workspace_id', 'deletion_look_at'])
    .where('deletion_look_at', 'is not', null)
    .where('state', '=', 'active')
    .where(isUnderZones(zones))
    .orderBy('deletion_look_at')
    .limit(BATCH_SIZE)
    .execute();
  return splitDue(rows, (row) => row.deletion_look_at, now);
}

/** Undefined: another process has it. */
function claim({ db, clock }: ResendDependencies, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const now = clock.now();
  return workspaceDb(db, workspaceId)
    .updateTable('domains')
    .set({ deletion_sent_at: now, deletion_look_at: new Date(now.getTime() + SENDING_MS) })
    .where('id', '=', id)
    .where('state', '=', 'active')
    .where('deletion_look_at', '<=', now)
    .returningAll()
    .executeTakeFirst();
}
