/** Sends changes that wait, and the locks of new names, until the registry has made or refused them. */

import { toUnicode } from 'tr46';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { splitDue } from '../../kernel/periodic/split-due.ts';
import type { Mailer } from '../mail/index.ts';
import { type DomainRow, isUnderZones } from '../portfolio/index.ts';
import { getRegistrant } from '../registrant.ts';
import { explainRefusal, type Refusal } from '../registry/explain-refusal.ts';
import type { Zones } from '../registry/routing-registry.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import {
  type ChangeDependencies,
  dropDone,
  keepWaiting,
  nextChangeLook,
  noteNoCredit,
  SENDING_MS,
} from './waiting-change.ts';

interface ResendDependencies extends ChangeDependencies {
  readonly logger: Logger;
  readonly mailer: Mailer;
}

const BATCH_SIZE = 20;

/** Those of these zones that are due, once. Any number of processes may do so at a time. */
export async function resendChanges(
  deps: ResendDependencies,
  zones: Zones,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { due, nextInMs } = await listDue(deps, zones);
  for (const { id, workspace_id: workspaceId } of due) {
    if (signal.aborted) return undefined;
    const row = await claim(deps, workspaceId, id);
    if (row !== undefined) await send(deps, row);
  }
  return nextInMs;
}

async function send(deps: ResendDependencies, row: DomainRow): Promise<void> {
  const { clock, db, logger, registry } = deps;
  const { change_wanted: change, change_wanted_at: wantedAt, name } = row;
  if (change === null) return;
  const outcome = await registry.update({ ...change, name, transactionId: mintId('upd') });
  const members = Object.keys(change) as (keyof typeof change)[];
  if (outcome.kind === 'rejected' && outcome.code === 'no_credit') {
    await keepWaiting(deps, row, {});
    return noteNoCredit(deps, row);
  }
  if (outcome.kind === 'unknown') {
    const now = clock.now();
    const again = { change_look_at: nextChangeLook(wantedAt ?? now, now) };
    await workspaceDb(db, row.workspace_id).updateTable('domains').set(again).where('id', '=', row.id).execute();
    return;
  }
  // A holder that its registry takes from nobody does not keep the rest from being made: that is sent by itself next.
  const { registrant } = change;
  await dropDone(deps, row, outcome.kind === 'rejected' && registrant !== undefined ? { registrant } : change);
  // What it shows now is read with the next sweep.
  const unread = { synced_at: null };
  await workspaceDb(db, row.workspace_id).updateTable('domains').set(unread).where('id', '=', row.id).execute();
  if (outcome.kind !== 'rejected') return;
  logger.warn(
    { domain: name, code: outcome.code, reason: outcome.reason },
    'the registry refused a change that waited',
  );
  // Nobody has asked for the lock that every new name gets.
  if (registrant !== undefined) await tellOfHolder(deps, row, outcome);
  else if (members.some((member) => member !== 'transferLocked')) await tellOfSettings(deps, row, outcome);
}

/** Who was answered that the change is pending. */
async function tellOfSettings(deps: ResendDependencies, row: DomainRow, refusal: Refusal): Promise<void> {
  const { domain: unicode } = toUnicode(row.name);
  await tellOwner(deps, row, {
    subject: `The settings of ${unicode} were not changed`,
    text: `you asked for the settings of ${unicode} to be changed. Its registry has refused that: they are as they were.

${explainRefusal('settings', row.name, refusal)}

See GET /domains/${row.name}, and PATCH /domains/${row.name}/settings to ask again.`,
  });
}

/** Whose data have changed, or whose name has come from another registrar. */
async function tellOfHolder(deps: ResendDependencies, row: DomainRow, refusal: Refusal): Promise<void> {
  const { domain: unicode } = toUnicode(row.name);
  if (refusal.code === 'needs_trade') {
    await tellOwner(deps, row, {
      subject: `${unicode} has another holder at its registry`,
      text: `the registry of ${unicode} does not have the registrant of your workspace as its holder, and keeps the one that it has.

${explainRefusal('settings', row.name, refusal)}`,
    });
    return;
  }
  await tellOwner(deps, row, {
    subject: `The registry of ${unicode} has not taken your data`,
    text: `the registry of ${unicode} was sent who its holder is, and has refused it: it keeps the data that it had.

${explainRefusal('settings', row.name, refusal)}

See GET /registrant for what it was sent, and PATCH /registrant to change it, which sends it again.`,
  });
}

async function tellOwner(
  { db, logger, mailer }: ResendDependencies,
  row: DomainRow,
  { subject, text }: { readonly subject: string; readonly text: string },
): Promise<void> {
  const { email, name } = await getRegistrant(workspaceDb(db, row.workspace_id));
  try {
    await mailer.send({ to: email, subject, text: `Hello ${name},\n\n${text}\n` });
  } catch (error) {
    logger.error({ err: error, domain: row.name }, 'the owner of a name was not told that its change was refused');
  }
}

async function listDue({ clock, db }: ResendDependencies, zones: Zones) {
  const now = clock.now();
  const rows = await systemDb(db)
    .selectFrom('domains')
    .select(['id', 'workspace_id', 'change_look_at'])
    .where('change_look_at', 'is not', null)
    .where('state', '=', 'active')
    .where(isUnderZones(zones))
    .orderBy('change_look_at')
    .limit(BATCH_SIZE)
    .execute();
  return splitDue(rows, (row) => row.change_look_at, now);
}

/** Undefined: another process has it. */
function claim({ clock, db }: ResendDependencies, workspaceId: string, id: string): Promise<DomainRow | undefined> {
  const now = clock.now();
  return workspaceDb(db, workspaceId)
    .updateTable('domains')
    .set({ change_look_at: new Date(now.getTime() + SENDING_MS) })
    .where('id', '=', id)
    .where('state', '=', 'active')
    .where('change_look_at', '<=', now)
    .returningAll()
    .executeTakeFirst();
}
