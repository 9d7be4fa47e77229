/**
 * Names of a portfolio that the registry says we do not have. Registries answer wrongly now and then, and an endpoint that is set
 * wrongly answers wrongly for every name, so one answer retires nothing:
 *
 *            not there, or another's          a day, three sightings, a second command agrees
 *   active ─────────────────────────▶ missing ──────────────────────────────────────────────▶ gone (its zone is kept for 60 days)
 *     ▲                                  │                                                     │
 *     └──── the registry shows it ◀──────┘        an operator brings it back                   │
 *     └────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * A name that was to leave (we sent its deletion, or it was in redemption) waits for no day: there the second command is enough. That a
 * release is due proves nothing: a registry that renews by itself has the name still. While more than one name in a thousand is missing unexpectedly, no further one is retired, and the sweep asks about those that are missing alone.
 */
import { sql } from 'kysely';
import type { Executor } from '../../kernel/db/database.ts';
import { type ReadOptions, type Registry, type RegistryDomain, RegistryUnavailable } from '../registry/registry.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';
import { isUnderAny } from '../zone-of-name.ts';
import type { DomainRow } from './store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A name is missing for so long, and was seen to be so often, before it is retired. */
const MISSING_FOR_MS = DAY_MS;
const SIGHTINGS = 3;
/** Answers that are closer together count as one sighting. */
const SIGHTING_APART_MS = HOUR_MS;
/** Between two looks at a missing name by the sweep. */
export const MISSING_LOOK_MS = 8 * HOUR_MS;
/** Names that may be missing unexpectedly: one, or one in so many of the portfolio. */
const PORTFOLIO_SHARE = 1_000;

/** Its deletion was sent, or it is at the end of its life: that the registry has it no more is what was to come. */
export function isToLeave({ deletion_sent_at: sentAt, snapshot }: DomainRow): boolean {
  if (sentAt !== null) return true;
  return snapshot?.statuses.some((status) => status === 'redemptionPeriod' || status === 'pendingDelete') ?? false;
}

/** Whether this sighting is the last that is needed, if a second command agrees with it. */
export function isMissingForGood(row: DomainRow, now: Date): boolean {
  if (isToLeave(row)) return true;
  const { missing_since: since, missing_sightings: sightings } = row;
  if (since === null || now.getTime() - since.getTime() < MISSING_FOR_MS) return false;
  return sightings + (isNewSighting(row, now) ? 1 : 0) >= SIGHTINGS;
}

/**
 * Whether `check` agrees with what `info` said: free where there is no such name, taken where it is another's. As our own names are taken
 * too, the registry must have shown whose it is, or have announced its loss: a mere refusal (2201) is not enough. Throws
 * `RegistryUnavailable` where `check` gets no answer: then nothing is known, and the name is asked about again soon.
 */
export async function confirmMissing(
  registry: Pick<Registry, 'check'>,
  name: string,
  info: RegistryDomain | undefined,
  { isAnnounced = false, timeoutMs }: ReadOptions & { readonly isAnnounced?: boolean } = {},
): Promise<boolean> {
  if (info?.registryId === '' && !isAnnounced) return false;
  const [found] = await registry.check([name], { timeoutMs });
  if (found === undefined || found.availability === 'unknown') {
    throw new RegistryUnavailable(`the registry does not say whether ${name} is taken`);
  }
  const isFree = found.availability === 'available' || found.availability === 'reserved';
  return info === undefined ? isFree : found.availability === 'taken';
}

function isNewSighting({ missing_seen_at: seenAt }: DomainRow, now: Date): boolean {
  // In both directions: a clock that was set back must not keep a name missing.
  return seenAt === null || Math.abs(now.getTime() - seenAt.getTime()) >= SIGHTING_APART_MS;
}

/** Counts a sighting of the locked row; `isAnnounced`: by a message of the registry. */
export async function countSighting(
  db: WorkspaceDb,
  row: DomainRow,
  { isAnnounced, now }: { readonly isAnnounced: boolean; readonly now: Date },
): Promise<void> {
  const isNew = isNewSighting(row, now);
  if (!isNew && (row.missing_announced || !isAnnounced)) return;
  await db
    .updateTable('domains')
    .set({
      missing_since: row.missing_since ?? now,
      ...(isNew ? { missing_seen_at: now, missing_sightings: row.missing_sightings + 1 } : {}),
      missing_announced: row.missing_announced || isAnnounced,
    })
    .where('id', '=', row.id)
    .execute();
}

/** What the row of a name that is not missing has. */
export const notMissing = {
  missing_since: null,
  missing_seen_at: null,
  missing_sightings: 0,
  missing_announced: false,
} as const;

/** A deletion that the registry has taken shows in its answers after so long. */
const DELETION_SHOWS_MS = HOUR_MS;

/** What remains of a deletion that was sent when the registry shows the name: where it should have shown by now, it never happened. */
export function deletionUnlessOver(now: Date) {
  const since = new Date(now.getTime() - DELETION_SHOWS_MS);
  return sql<Date | null>`case when deletion_sent_at >= ${since} then deletion_sent_at end`;
}

/**
 * Names that are missing, or were retired within a day, though nothing said that they would leave: no deletion, no redemption, no
 * message of the registry.
 */
const unexpected = `
  missing_since is not null and not missing_announced
  and (state = 'active' or (state = 'gone' and gone_at > $1::timestamptz - interval '1 day'))
  and deletion_sent_at is null and (release_at is null or release_at > $1)
  and not coalesce(snapshot -> 'statuses' ?| array['redemptionPeriod', 'pendingDelete'], false)`;

const under = isUnderAny('$2');

/** More names are missing unexpectedly than is likely, of all or of one registry's zones: rather the registry's answers are wrong. */
export async function areTooManyMissing(
  executor: Executor,
  now: Date,
  zones: readonly string[] | undefined,
): Promise<boolean> {
  const { rows } = await executor.query<{ too_many: boolean }>({
    text: `
      select found.count > 1 and found.count > (select count(*) / ${PORTFOLIO_SHARE} from domains.domains where state = 'active' and ${under})
        as too_many
      from (select count(*) as count from domains.domains where ${unexpected} and ${under}) found`,
    values: [now, zones ?? null],
  });
  return rows[0]?.too_many === true;
}

/** Active names of every workspace that the registry says we do not have, the longest missing first. */
export async function listMissing(db: SystemDb, limit: number) {
  return db
    .selectFrom('domains')
    .select(['workspace_id', 'name', 'expires_at', 'missing_since', 'missing_sightings', 'missing_announced'])
    .where(sql<boolean>`missing_since is not null and state = 'active'`)
    .orderBy('missing_since')
    .limit(limit)
    .execute();
}
