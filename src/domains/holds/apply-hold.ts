/** Tells a name's registry whether it is out of the DNS, as the reasons that there are at that moment say. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { appendEvent } from '../events/index.ts';
import { type DomainRow, lockDomain } from '../portfolio/index.ts';
import type { MutationOutcome, Registry } from '../registry/registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { holdReasonsOf } from './hold.ts';

export interface HoldDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly registry: Pick<Registry, 'update'>;
}

/** Longer than any command to the registry takes. */
const LEASE_MS = 60_000;

/** `busy`: another process is telling it, or has a moment ago and does not know what became of that. */
export type HoldOutcome = MutationOutcome | { readonly kind: 'busy' };

/** Repeating it is safe. Whose last reason has ended is told by an event that the name is back. */
export async function applyHold(
  deps: HoldDependencies,
  { id, workspace_id: workspaceId }: Pick<DomainRow, 'id' | 'workspace_id'>,
): Promise<HoldOutcome> {
  const row = await takeLease(deps, workspaceId, id);
  if (row === undefined) return { kind: 'busy' };
  const held = holdReasonsOf(row).length > 0;
  const outcome = await deps.registry.update({ name: row.name, transactionId: mintId('upd'), held });
  switch (outcome.kind) {
    case 'completed':
    case 'pending':
      await confirm(deps, row, held);
      return outcome;
    case 'unknown':
      // It may be carried out still: nobody sends the opposite meanwhile.
      if (outcome.isUnsent === true) await giveLeaseBack(deps, row);
      return outcome;
    case 'rejected':
      await giveLeaseBack(deps, row);
      return outcome;
    default:
      return outcome satisfies never;
  }
}

function takeLease({ clock, db }: HoldDependencies, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const now = clock.now();
  return workspaceDb(db, workspaceId)
    .updateTable('domains')
    .set({ hold_lease_until: new Date(now.getTime() + LEASE_MS) })
    .where('id', '=', id)
    .where('state', '=', 'active')
    .where(({ eb, or }) => or([eb('hold_lease_until', 'is', null), eb('hold_lease_until', '<=', now)]))
    .returningAll()
    .executeTakeFirst();
}

async function giveLeaseBack({ db }: HoldDependencies, row: DomainRow): Promise<void> {
  await workspaceDb(db, row.workspace_id)
    .updateTable('domains')
    .set({ hold_lease_until: null })
    .where('id', '=', row.id)
    .where('hold_lease_until', '=', row.hold_lease_until)
    .execute();
}

async function confirm({ clock, db }: HoldDependencies, sent: DomainRow, held: boolean): Promise<void> {
  const now = clock.now();
  await db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, sent.workspace_id);
    const row = await lockDomain(scoped, sent.id);
    if (row?.state !== 'active') return;
    const isStillWanted = holdReasonsOf(row).length > 0 === held;
    await scoped
      .updateTable('domains')
      .set({
        held_at: held ? (row.held_at ?? now) : null,
        hold_look_at: isStillWanted ? null : now,
        hold_problem: null,
        hold_lease_until: null,
        // What it shows now is read with the next sweep.
        synced_at: null,
      })
      .where('id', '=', sent.id)
      .execute();
    if (held || row.held_at === null) return;
    await appendEvent(tx, sent.workspace_id, { type: 'domain.resumed', data: { domain: sent.name } });
  });
}
