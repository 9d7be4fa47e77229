/** Takes auth codes away whose time is over, and mails those that had to wait for credit. */

import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { splitDue } from '../../kernel/periodic/split-due.ts';
import { type DomainRow, isUnderZones } from '../portfolio/index.ts';
import type { Zones } from '../registry/routing-registry.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { AGAIN_MS, type AuthCodeParts, giveAuthCode, noteAuthCode } from './auth-codes.ts';

type Dependencies = AuthCodeParts & { readonly logger: Logger };

const BATCH_SIZE = 20;
const HOUR_MS = 3_600_000;

/** Those of these zones that are due, once. Any number of processes may do so at a time. */
export async function lookAfterAuthCodes(
  deps: Dependencies,
  zones: Zones,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { due, nextInMs } = await listDue(deps, zones);
  for (const { id, workspace_id: workspaceId } of due) {
    if (signal.aborted) return undefined;
    const row = await claim(deps, workspaceId, id);
    if (row === undefined) continue;
    await (row.auth_code_wanted ? give(deps, row) : takeAway(deps, row));
  }
  return nextInMs;
}

async function give(deps: Dependencies, row: DomainRow): Promise<void> {
  const { clock, logger } = deps;
  const given = await giveAuthCode(deps, row);
  if (given.kind === 'waits') return;
  if (given.kind === 'not_set' && given.outcome.kind === 'rejected') {
    logger.warn(
      { domain: row.name, reason: given.outcome.reason },
      'the registry took no auth code that its owner waits for',
    );
    return noteAuthCode(deps, row, { auth_code_wanted: false, auth_code_until: null, auth_code_look_at: null });
  }
  try {
    if (given.kind === 'set') return await given.mail();
  } catch (error) {
    logger.error({ err: error, domain: row.name }, 'an auth code was not mailed; another is made and mailed');
  }
  const again = new Date(clock.now().getTime() + AGAIN_MS);
  await noteAuthCode(deps, row, { auth_code_wanted: true, auth_code_look_at: again });
}

async function takeAway(deps: Dependencies, row: DomainRow): Promise<void> {
  const { clock, logger, registry } = deps;
  const outcome = await registry.update({ name: row.name, transactionId: mintId('upd'), authCode: null });
  const isDone = outcome.kind === 'completed' || outcome.kind === 'pending';
  // It went with the name.
  const isElsewhere =
    outcome.kind === 'rejected' && (outcome.code === 'not_authorized' || outcome.code === 'object_does_not_exist');
  if (!isDone && !isElsewhere) {
    logger.warn(
      { domain: row.name, reason: outcome.reason },
      'an auth code whose time is over is there still; tried again',
    );
    return noteAuthCode(deps, row, { auth_code_look_at: new Date(clock.now().getTime() + HOUR_MS) });
  }
  // Unless its owner has asked for another meanwhile.
  await workspaceDb(deps.db, row.workspace_id)
    .updateTable('domains')
    .set({ auth_code_until: null, auth_code_look_at: null })
    .where('id', '=', row.id)
    .where('auth_code_until', '<=', clock.now())
    .execute();
}

async function listDue({ clock, db }: Dependencies, zones: Zones) {
  const now = clock.now();
  const rows = await systemDb(db)
    .selectFrom('domains')
    .select(['id', 'workspace_id', 'auth_code_look_at'])
    .where('auth_code_look_at', 'is not', null)
    .where('state', '=', 'active')
    .where(isUnderZones(zones))
    .orderBy('auth_code_look_at')
    .limit(BATCH_SIZE)
    .execute();
  return splitDue(rows, (row) => row.auth_code_look_at, now);
}

/** Undefined: another process has it. */
function claim({ clock, db }: Dependencies, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const now = clock.now();
  return workspaceDb(db, workspaceId)
    .updateTable('domains')
    .set({ auth_code_look_at: new Date(now.getTime() + AGAIN_MS) })
    .where('id', '=', id)
    .where('state', '=', 'active')
    .where('auth_code_look_at', '<=', now)
    .returningAll()
    .executeTakeFirst();
}
