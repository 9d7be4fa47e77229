/** Names of all workspaces that are to be looked at. */
import type { Executor } from '../../kernel/db/database.ts';
import { isUnderAny } from '../zone-of-name.ts';

export interface DueName {
  readonly workspace_id: string;
  readonly id: string;
  /** ASCII. */
  readonly name: string;
  /** When it was read last. */
  readonly synced_at: Date | null;
  readonly looked_at: Date | null;
  /** Since when the registry says that we do not have it. */
  readonly missing_since: Date | null;
  /** That it is there says too little of it: something is about to happen to it, or was not known when it was read last. */
  readonly must_read: boolean;
}

export interface DueSearch {
  /** One label above the names; undefined: any. */
  readonly zones: readonly string[] | undefined;
  /** Ids of those that are left out. */
  readonly except: readonly string[];
  /** Due is what was last looked at, or read, before these times. */
  readonly before: {
    readonly looked: Date;
    /** Of names that the registry has not reported yet. */
    readonly unreported: Date;
    /** Of names that it says we do not have. */
    readonly missing: Date;
  };
  /** Names that end their term before then are always read. */
  readonly endsBefore: Date;
  readonly limit: number;
}

/** First those that are missing, the longest first, then those that were to be read again, then the others, longest ago first. */
export async function listDueNames(executor: Executor, search: DueSearch): Promise<DueName[]> {
  const { before, endsBefore, except, limit, zones } = search;
  const { rows } = await executor.query<DueName>({
    text: LIST,
    values: [zones ?? null, [...except], before.missing, before.looked, before.unreported, endsBefore, limit],
  });
  return rows;
}

/** Active names under these zones. */
export async function countNames(executor: Executor, zones: readonly string[] | undefined): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    text: `select count(*)::int as count from domains.domains where state = 'active' and ${UNDER}`,
    values: [zones ?? null],
  });
  return rows[0]?.count ?? 0;
}

const UNDER = isUnderAny('$1');
const ASKED = `state = 'active' and ${UNDER} and id <> all($2::text[])`;
const NOT_MISSED_LATELY = '(missing_seen_at is null or missing_seen_at < $3)';
const UNDER_WAY = `array['redemptionPeriod', 'pendingCreate', 'pendingDelete', 'pendingRenew', 'pendingRestore', 'pendingTransfer',
  'pendingUpdate']`;
const FOUND = `
  select workspace_id, id, name, synced_at, looked_at, missing_since,
    synced_at is null or snapshot is null or missing_since is not null
      or coalesce(coalesce(expires_at, billed_until) < $6, false) or coalesce(release_at < $6, false)
      or deletion_sent_at is not null or deletion_wanted_at is not null
      or coalesce(transfer_out ->> 'state' in ('pending', 'approved'), false)
      or coalesce(snapshot -> 'statuses' ?| ${UNDER_WAY}, false) as must_read
  from domains.domains where ${ASKED}`;

/** Each way to be due by itself, so that each is read by its index and no further than the limit. */
const LIST = `
  (${FOUND} and missing_since is not null and ${NOT_MISSED_LATELY} order by missing_since limit $7)
  union all
  (${FOUND} and missing_since is null and looked_at is null and ${NOT_MISSED_LATELY} limit $7)
  union all
  (${FOUND} and missing_since is null and looked_at < $4 order by looked_at limit $7)
  union all
  (${FOUND} and missing_since is null and snapshot is null and looked_at >= $4 and synced_at < $5 order by synced_at limit $7)
  order by missing_since nulls last, looked_at nulls first, id
  limit $7`;
