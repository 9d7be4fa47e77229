/** What the registry says of a name, written into its row. */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { closeZone, closeZoneLater } from '../dns/index.ts';
import type { Registry, RegistryDomain } from '../registry/registry.ts';
import { zoneOf } from '../registry/routing-registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import {
  areTooManyMissing,
  confirmMissing,
  countSighting,
  deletionUnlessOver,
  isMissingForGood,
  isToLeave,
  notMissing,
} from './missing-names.ts';
import { endOfPaidTermInRow } from './paid-term.ts';
import { type DomainRow, findDomainById, lockDomain } from './store.ts';

interface Place {
  readonly workspaceId: string;
  readonly domainId: string;
  /** ASCII. */
  readonly name: string;
}

/** Updates the row of a name that is ours from the registry's answer. */
export async function recordInfo(tx: Transaction, place: Place, info: RegistryDomain, parts: Reporting): Promise<void> {
  await workspaceDb(tx, place.workspaceId)
    .updateTable('domains')
    .set(reported(info, parts))
    .where('id', '=', place.domainId)
    .where('state', '<>', 'gone')
    .execute();
}

interface Reporting {
  readonly registry: Pick<Registry, 'habitsOf'>;
  readonly now: Date;
}

/** The columns of a name that the registry has just reported as ours. */
export function reported(info: RegistryDomain, { registry, now }: Reporting) {
  return {
    state: 'active',
    snapshot: json(info),
    synced_at: now,
    expires_at: endOfPaidTermInRow(registry.habitsOf(info.name), new Date(info.expiresAt)),
    ...notMissing,
    deletion_sent_at: deletionUnlessOver(now),
  } as const;
}

/** Takes a name that never became ours out of the portfolio, and its zone with it. */
export async function dropAcquisition(tx: Transaction, place: Place, now: Date): Promise<void> {
  await endDomain(tx, place, now);
  await closeZone(tx, place);
}

/** Takes a name that is not ours any more out of the portfolio. Its zone is kept and served for a while: it may come back. */
export async function retireDomain(tx: Transaction, place: Place, now: Date): Promise<void> {
  await endDomain(tx, place, now);
  await closeZoneLater(tx, place, new Date(now.getTime() + KEPT_MS));
}

/** How long a retired name can be brought back, with its zone. */
export const KEPT_MS = 60 * 86_400_000;

async function endDomain(tx: Transaction, place: Place, now: Date): Promise<void> {
  await workspaceDb(tx, place.workspaceId)
    .updateTable('domains')
    .set({ state: 'gone', gone_at: now })
    .where('id', '=', place.domainId)
    .execute();
}

/**
 * Asks the registry about a name of the portfolio and records the answer: see missing-names.ts for one that the name is not ours.
 * The row afterwards; undefined when the name has left the portfolio. Throws `RegistryUnavailable`. A name that the registry has never
 * reported stays, without a snapshot, unless it was deleted. `isAnnounced`: a message of the registry said that it has left.
 */
export async function syncDomain(
  parts: { readonly db: Database; readonly registry: Registry; readonly now: Date },
  row: DomainRow,
  { isAnnounced = false }: { readonly isAnnounced?: boolean } = {},
): Promise<DomainRow | undefined> {
  const { db, registry, now } = parts;
  // A name that is being acquired is updated by its order alone.
  if (row.state !== 'active') return row;
  const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
  const info = await registry.info(row.name);
  const isOurs = info?.isOurs === true && !info.statuses.includes('pendingCreate');
  const isConfirmed =
    !isOurs &&
    isMissingForGood(row, now) &&
    (await confirmMissing(registry, row.name, info, isAnnounced || row.missing_announced));
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    // Recorded meanwhile by another process: this answer may be older.
    if (held === undefined || !isSameReport(held, row)) return held?.state === 'gone' ? undefined : held;
    if (isOurs) await recordInfo(tx, place, info, { registry, now });
    else if (row.snapshot === null && !isToLeave(row)) {
      await scoped.updateTable('domains').set({ synced_at: now }).where('id', '=', row.id).execute();
    } else {
      await countSighting(scoped, held, { isAnnounced, now });
      const mayRetire =
        isConfirmed &&
        (isExpected(held, now, isAnnounced) || !(await areTooManyMissing(tx, now, zonesBeside(registry, row.name))));
      if (mayRetire) await retireDomain(tx, place, now);
    }
    const after = await findDomainById(scoped, row.id);
    return after?.state === 'gone' ? undefined : after;
  });
}

/** Of the registry that the name is at. */
function zonesBeside({ members }: Pick<Registry, 'members'>, name: string): readonly string[] | undefined {
  return members.find(({ zones }) => zones?.includes(zoneOf(name)))?.zones;
}

function isSameReport(held: DomainRow, seen: DomainRow): boolean {
  return (
    held.synced_at?.getTime() === seen.synced_at?.getTime() &&
    held.missing_seen_at?.getTime() === seen.missing_seen_at?.getTime()
  );
}

function isExpected(row: DomainRow, now: Date, isAnnounced: boolean): boolean {
  const isReleased = row.release_at !== null && row.release_at <= now;
  return isToLeave(row) || isReleased || row.missing_announced || isAnnounced;
}
