/** Rows of names whose paid term has ended at a registry that renews by itself. */
import { type Selectable, sql } from 'kysely';
import { isUnder } from '../portfolio/index.ts';
import type { WorkspaceTables } from '../tables.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';

type DomainRow = Selectable<WorkspaceTables['domains']>;

export type UnpaidRow = DomainRow & { billed_until: Date };

export type UnpaidChanges = Partial<
  Pick<
    DomainRow,
    | 'auto_renew'
    | 'deletion_sent_at'
    | 'hold_look_at'
    | 'missing_seen_at'
    | 'release_at'
    | 'renewal_state'
    | 'suspended_at'
    | 'synced_at'
    | 'unpaid_problem'
    | 'unpaid_tried_at'
  >
>;

const isActive = sql<boolean>`state = 'active'`;
/** Known to have been deleted, or being deleted for its owner, who asked for it; not where the deletion that was sent had no answer. */
const isLeaving = sql<boolean>`
  (deletion_sent_at is not null and unpaid_problem is null or deletion_look_at is not null
    or coalesce(snapshot -> 'statuses' ?| array['redemptionPeriod', 'pendingDelete'], false))`;

/** Where its names are looked for; all zones where none are given. */
interface Scope {
  readonly zones: readonly string[] | undefined;
  readonly now: Date;
  readonly triedBefore: Date;
}

interface Lapsed extends Scope {
  /** To be deleted, where it is unpaid since then. */
  readonly deletesBefore: Date;
  /** Unpaid since a time between these two it is about to be billed: what has failed is tried again if that was before `triedBefore`. */
  readonly lastDays: { readonly from: Date; readonly to: Date; readonly triedBefore: Date };
}

/** Names with a step to take, the longest unpaid first: to be suspended, released, or deleted. */
export async function listUnpaid(
  db: SystemDb,
  { now, triedBefore, zones, deletesBefore, lastDays }: Lapsed,
  limit: number,
): Promise<UnpaidRow[]> {
  return db
    .selectFrom('domains')
    .selectAll()
    .where(isActive)
    .where(isUnder(zones))
    .where('billed_until', '<=', now)
    .where(({ not }) => not(isLeaving))
    .where(({ and, eb, or }) =>
      or([
        eb('unpaid_tried_at', 'is', null),
        eb('unpaid_tried_at', '<=', triedBefore),
        and([
          eb('unpaid_problem', 'is not', null),
          eb('unpaid_tried_at', '<=', lastDays.triedBefore),
          eb('billed_until', '>', lastDays.from),
          eb('billed_until', '<=', lastDays.to),
        ]),
      ]),
    )
    .where(({ eb, or }) =>
      or([
        eb('suspended_at', 'is', null),
        eb('unpaid_problem', 'is not', null),
        eb('release_at', '<=', now),
        eb('billed_until', '<=', deletesBefore),
      ]),
    )
    .orderBy('billed_until')
    .orderBy('id')
    .limit(limit)
    .$narrowType<{ billed_until: Date }>()
    .execute();
}

/** Names that were unpaid and are paid for by now. */
export async function listPaidAgain(
  db: SystemDb,
  { now, triedBefore, zones }: Scope,
  limit: number,
): Promise<DomainRow[]> {
  return db
    .selectFrom('domains')
    .selectAll()
    .where(isActive)
    .where(isUnder(zones))
    .where(sql<boolean>`(suspended_at is not null or unpaid_problem is not null)`)
    .where('billed_until', '>', now)
    .where(({ eb, or }) => or([eb('unpaid_problem', 'is', null), eb('unpaid_tried_at', '<=', triedBefore)]))
    .orderBy('billed_until')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Unpaid names of which a step did not succeed, the longest unpaid first. */
export async function listUnpaidProblems(db: SystemDb, limit: number) {
  return db
    .selectFrom('domains')
    .select(['workspace_id', 'name', 'billed_until', 'snapshot', 'suspended_at', 'unpaid_problem', 'unpaid_tried_at'])
    .where(isActive)
    .where('unpaid_problem', 'is not', null)
    .orderBy('billed_until')
    .limit(limit)
    .execute();
}

export async function saveUnpaid(db: WorkspaceDb, id: string, changes: UnpaidChanges): Promise<void> {
  await db.updateTable('domains').set(changes).where('id', '=', id).where(isActive).execute();
}
