/** What the registry says of a name, written into its row. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { startDeadline } from '../deadline.ts';
import { closeZone, closeZoneLater, followDelegation } from '../dns/index.ts';
import { appendEvent } from '../events/index.ts';
import type { ReadOptions, Registry, RegistryDomain } from '../registry/registry.ts';
import { zoneOf } from '../registry/routing-registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { refundEarly } from './add-grace.ts';
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
    snapshot: withKnown(info),
    synced_at: now,
    ...(info.expiresAt === undefined
      ? {}
      : { expires_at: endOfPaidTermInRow(registry.habitsOf(info.name), new Date(info.expiresAt)) }),
    ...notMissing,
    deletion_sent_at: deletionUnlessOver(now),
    transfer_out_look_at: lookAtTransferOut(info, now),
    redemption_since: redemptionSince(info, now),
  } as const;
}

/** What it was not asked for, or does not show now, stays as it told it last: hosts below the name, and dates. */
function withKnown(info: RegistryDomain) {
  return sql<string>`jsonb_strip_nulls(jsonb_build_object('hosts', snapshot -> 'hosts', 'createdAt', snapshot -> 'createdAt',
    'expiresAt', snapshot -> 'expiresAt')) || ${json(info)}::jsonb`;
}

/** Of a report that is older than what the row has: that changes nothing which is known of the expiry. */
export function withoutExpiry({ expiresAt: _, ...info }: RegistryDomain): RegistryDomain {
  return info;
}

/** Registries do not tell when it began: from our deletion, or since it was seen first. Kept once it is over and the name awaits its purge. */
function redemptionSince({ statuses }: RegistryDomain, now: Date) {
  if (statuses.includes('redemptionPeriod')) return sql<Date>`coalesce(redemption_since, deletion_sent_at, ${now})`;
  const awaitsPurge = statuses.includes('pendingDelete') && !statuses.includes('pendingRestore');
  return awaitsPurge ? sql<Date | null>`redemption_since` : null;
}

/** Now, where the name's status and what is known of its transfer to another registrar differ. */
function lookAtTransferOut({ statuses }: RegistryDomain, now: Date) {
  const differs = statuses.includes('pendingTransfer')
    ? sql`transfer_out ->> 'state' is distinct from 'pending'`
    : sql`transfer_out ->> 'state' = 'pending'`;
  return sql<Date | null>`case when ${differs} then ${now} else transfer_out_look_at end`;
}

/** Takes a name that never became ours out of the portfolio, and its zone with it. */
export async function dropAcquisition(tx: Transaction, place: Place, now: Date): Promise<void> {
  await endDomain(tx, place, now);
  await closeZone(tx, place);
}

/**
 * Takes a name that is not ours any more out of the portfolio. Its zone is kept and served for a while, as it may come back; that of a name
 * that another registrar has is served until its delegation has moved. Answers the cents that its owner gets back: of a name that was deleted
 * so soon after its registration that the registry takes that back.
 */
export async function retireDomain(tx: Transaction, place: Place, now: Date): Promise<number> {
  const ended = await endDomain(tx, place, now);
  const transfer = ended?.transfer_out;
  await closeZoneLater(tx, place, new Date(now.getTime() + KEPT_MS));
  const isTransferred = transfer?.state === 'approved' || transfer?.state === 'pending';
  if (isTransferred) await followDelegation(tx, place, now);
  const type = isTransferred ? 'domain.transferred_out' : 'domain.deleted';
  await appendEvent(tx, place.workspaceId, { type, data: { domain: place.name } });
  return isTransferred || ended === undefined ? 0 : refundEarly(tx, place, ended);
}

/** How long a retired name can be brought back, with its zone. */
export const KEPT_MS = 60 * 86_400_000;

async function endDomain(tx: Transaction, place: Place, now: Date): Promise<DomainRow | undefined> {
  return workspaceDb(tx, place.workspaceId)
    .updateTable('domains')
    .set({ state: 'gone', gone_at: now })
    .where('id', '=', place.domainId)
    .returningAll()
    .executeTakeFirst();
}

/**
 * Asks the registry about a name of the portfolio and records the answer: see missing-names.ts for one that the name is not ours.
 * The row afterwards; undefined when the name has left the portfolio. Throws `RegistryUnavailable`. A name that the registry has never
 * reported stays, without a snapshot, unless it was deleted. `isAnnounced`: a message of the registry said that it has left.
 */
export async function syncDomain(
  parts: { readonly db: Database; readonly registry: Registry; readonly now: Date },
  row: DomainRow,
  { isAnnounced: isNamed = false, timeoutMs, withHosts }: ReadOptions & { readonly isAnnounced?: boolean } = {},
): Promise<DomainRow | undefined> {
  const { db, registry, now } = parts;
  // A name that is being acquired is updated by its order alone.
  if (row.state !== 'active') return row;
  const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
  // What the registry says of its transfer announces that it leaves, too.
  const isAnnounced = isNamed || row.transfer_out?.state === 'approved';
  const deadline = timeoutMs === undefined ? undefined : startDeadline(timeoutMs);
  const info = await registry.info(row.name, { timeoutMs, withHosts });
  const isOurs = info?.isOurs === true && !info.statuses.includes('pendingCreate');
  const isConfirmed =
    !isOurs &&
    isMissingForGood(row, now) &&
    (await confirmMissing(registry, row.name, info, {
      isAnnounced: isAnnounced || row.missing_announced,
      timeoutMs: deadline?.leftMs,
    }));
  /** As it is, where another process has recorded an answer meanwhile: this one may be older. */
  let overtaken: DomainRow | undefined;
  const after = await db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    if (held === undefined || !isSameReport(held, row)) {
      overtaken = held;
      return held?.state === 'gone' ? undefined : held;
    }
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
    const recorded = await findDomainById(scoped, row.id);
    return recorded?.state === 'gone' ? undefined : recorded;
  });
  // A message comes once: whoever was faster knew nothing of it.
  if (isNamed && overtaken?.state === 'active')
    return syncDomain(parts, overtaken, { isAnnounced: true, timeoutMs, withHosts });
  return after;
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
