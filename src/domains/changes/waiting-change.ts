/**
 * A change is written down with its name before it is sent, and for as long as the registry has neither made nor refused it: because our account
 * there has no credit (2104), or as it was cut off between two of its commands. So is the lock that a new name gets. One a name: a later one is
 * added to it, and takes what it says itself out of it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { noteCreditRefusal } from '../balances/index.ts';
import { type DomainRow, lockDomain } from '../portfolio/index.ts';
import type { Registry, UpdateCommand } from '../registry/registry.ts';
import { memberOf } from '../registry/routing-registry.ts';
import { workspaceDb } from '../workspace-scope.ts';

/** Auth codes are kept nowhere. */
export type WaitingChange = Omit<UpdateCommand, 'name' | 'transactionId' | 'authCode'>;

export interface ChangeDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly registry: Pick<Registry, 'update' | 'members'>;
}

type NoteDependencies = Pick<ChangeDependencies, 'db' | 'clock'>;

/** Nobody else sends it for so long: longer than any command to the registry takes. */
export const SENDING_MS = 60_000;
/** Before it is sent again: as long as it has waited, but at least and at most so long. */
const MIN_AGAIN_MS = 30_000;
const MAX_AGAIN_MS = 1_800_000;

export function nextChangeLook(wantedAt: Date, now: Date): Date {
  const age = now.getTime() - wantedAt.getTime();
  return new Date(now.getTime() + Math.min(Math.max(age, MIN_AGAIN_MS), MAX_AGAIN_MS));
}

/**
 * Committed before the first command leaves, so that a change of several commands that was begun is finished, also where this process ends or the
 * registry takes no more of them for a while.
 */
export function noteChange(deps: NoteDependencies, row: DomainRow, change: WaitingChange): Promise<void> {
  return keep(deps, row, change, (now) => new Date(now.getTime() + SENDING_MS));
}

/** Has it sent later. */
export function keepWaiting(deps: NoteDependencies, row: DomainRow, change: WaitingChange): Promise<void> {
  return keep(deps, row, change, (now, wantedAt) => nextChangeLook(wantedAt, now));
}

/** The operator is told that our account at the name's registry is empty. */
export async function noteNoCredit({ clock, db, registry }: ChangeDependencies, row: DomainRow): Promise<void> {
  const member = memberOf(registry, row.name);
  if (member !== undefined) await noteCreditRefusal({ clock, db }, member.id);
}

async function keep(
  { clock, db }: NoteDependencies,
  row: DomainRow,
  change: WaitingChange,
  lookAt: (now: Date, wantedAt: Date) => Date,
): Promise<void> {
  const now = clock.now();
  await db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    const wantedAt = held?.change_wanted_at ?? now;
    await scoped
      .updateTable('domains')
      .set({
        change_wanted: json({ ...held?.change_wanted, ...change }),
        change_wanted_at: wantedAt,
        change_look_at: lookAt(now, wantedAt),
      })
      .where('id', '=', row.id)
      .execute();
  });
}

/** Takes these members out of what waits: something else is wanted of them by now. */
export function dropWaiting(
  deps: Pick<ChangeDependencies, 'db'>,
  row: DomainRow,
  members: readonly (keyof WaitingChange)[],
): Promise<void> {
  return drop(deps, row, (member) => members.some((dropped) => dropped === member));
}

/** Takes out of what waits what has been made or refused. What somebody else wants of the same members since then waits on. */
export function dropDone(deps: Pick<ChangeDependencies, 'db'>, row: DomainRow, change: WaitingChange): Promise<void> {
  // As the store keeps it: without members that are undefined.
  const done = new Map<string, unknown>(Object.entries(JSON.parse(JSON.stringify(change))));
  return drop(deps, row, (member, wanted) => done.has(member) && isDeepStrictEqual(done.get(member), wanted));
}

async function drop(
  { db }: Pick<ChangeDependencies, 'db'>,
  row: DomainRow,
  isDropped: (member: string, wanted: unknown) => boolean,
): Promise<void> {
  await db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    if (held === undefined || held.change_wanted === null) return;
    const rest = Object.fromEntries(
      Object.entries(held.change_wanted).filter(([member, wanted]) => !isDropped(member, wanted)),
    );
    const isEmpty = Object.keys(rest).length === 0;
    await scoped
      .updateTable('domains')
      .set(
        isEmpty ? { change_wanted: null, change_wanted_at: null, change_look_at: null } : { change_wanted: json(rest) },
      )
      .where('id', '=', row.id)
      .execute();
  });
}
