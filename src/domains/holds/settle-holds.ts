/** Tells registries of names whose reasons to be out of the DNS have changed, until they have taken it. */
import type { Logger } from '../../kernel/log/log.ts';
import { type DomainRow, isUnderZones } from '../portfolio/index.ts';
import type { Zones } from '../registry/routing-registry.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { applyHold, type HoldDependencies } from './apply-hold.ts';

interface SettleDependencies extends HoldDependencies {
  readonly logger: Logger;
}

const BATCH_SIZE = 100;
/** Until another process, or this one again, looks at a name that nothing is known of. */
const AGAIN_MS = 60_000;
/** What a registry has refused it mostly refuses again. */
const REFUSED_AGAIN_MS = 3_600_000;
/** After so many unanswered calls the registries count as unreachable: the rest waits for the next run. */
const UNANSWERED_LIMIT = 3;

/** Those of these zones that are due, once. Any number of processes may do so at a time. */
export async function settleHolds(deps: SettleDependencies, zones: Zones, signal: AbortSignal): Promise<void> {
  let unanswered = 0;
  for (const seen of await listDue(deps, zones)) {
    if (signal.aborted || unanswered === UNANSWERED_LIMIT) return;
    const lookAt = await claim(deps, seen);
    if (lookAt === undefined) continue;
    unanswered = (await settle(deps, seen, lookAt)) === 'unanswered' ? unanswered + 1 : 0;
  }
}

type DueName = Pick<DomainRow, 'id' | 'name' | 'workspace_id' | 'hold_problem'>;

async function settle(deps: SettleDependencies, row: DueName, lookAt: Date): Promise<'answered' | 'unanswered'> {
  const { clock, db, logger } = deps;
  const outcome = await applyHold(deps, row);
  if (outcome.kind !== 'rejected') return outcome.kind === 'unknown' ? 'unanswered' : 'answered';
  if (row.hold_problem !== outcome.reason) {
    const { code, reason } = outcome;
    logger.warn({ domain: row.name, code, reason }, 'the registry does not take a name out of the DNS, or put it back');
  }
  await workspaceDb(db, row.workspace_id)
    .updateTable('domains')
    .set({ hold_problem: outcome.reason, hold_look_at: new Date(clock.now().getTime() + REFUSED_AGAIN_MS) })
    .where('id', '=', row.id)
    // A reason that has begun or ended meanwhile is looked at when it says.
    .where('hold_look_at', '=', lookAt)
    .execute();
  return 'answered';
}

function listDue({ clock, db }: SettleDependencies, zones: Zones): Promise<DueName[]> {
  return systemDb(db)
    .selectFrom('domains')
    .select(['id', 'name', 'workspace_id', 'hold_problem'])
    .where('state', '=', 'active')
    .where('hold_look_at', '<=', clock.now())
    .where(isUnderZones(zones))
    .orderBy('hold_look_at')
    .limit(BATCH_SIZE)
    .execute();
}

/** When it is looked at next. Undefined: another process has it. */
async function claim(
  { clock, db }: SettleDependencies,
  { id, workspace_id: workspaceId }: DueName,
): Promise<Date | undefined> {
  const now = clock.now();
  const lookAt = new Date(now.getTime() + AGAIN_MS);
  const claimed = await workspaceDb(db, workspaceId)
    .updateTable('domains')
    .set({ hold_look_at: lookAt })
    .where('id', '=', id)
    .where('state', '=', 'active')
    .where('hold_look_at', '<=', now)
    .returning('id')
    .executeTakeFirst();
  return claimed === undefined ? undefined : lookAt;
}
