/** Rows of notices, and of the names that they are about. */
import { sql } from 'kysely';
import { mintId } from '../../kernel/ids/ids.ts';
import { type DomainRow, EXPIRY_TOLERANCE_MS } from '../portfolio/index.ts';
import { addDays } from '../registry/term.ts';
import type { NoticeStage } from '../tables.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';
import type { Stage } from './stages.ts';

export type EndingName = DomainRow & { readonly expires_at: Date };

export interface Position {
  readonly expiresAt: Date;
  readonly id: string;
}

/** A registry that reports another time of the same day has not begun another term. */
const TOLERANCE_SECONDS = EXPIRY_TOLERANCE_MS / 1_000;
const isOfTerm = sql<boolean>`abs(extract(epoch from expiry_notices.term_end - domains.expires_at)) <= ${sql.lit(TOLERANCE_SECONDS)}`;
const isLeaving = sql<boolean>`
  (deletion_sent_at is not null or coalesce(snapshot -> 'statuses' ?| array['redemptionPeriod', 'pendingDelete'], false))`;

/** Names in this stage whose owners have not been told so, soonest first, after the position. */
export async function listUntold(
  db: SystemDb,
  stage: Stage,
  { now, after }: { readonly now: Date; readonly after: Position | undefined },
  limit: number,
): Promise<EndingName[]> {
  let query = db
    .selectFrom('domains')
    .selectAll()
    .where('state', '=', 'active')
    .where('expires_at', '>', addDays(now, stage.after))
    .where('expires_at', '<=', addDays(now, stage.until))
    .where(({ not }) => not(isLeaving))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('expiry_notices')
            .select('stage')
            .whereRef('expiry_notices.workspace_id', '=', 'domains.workspace_id')
            .whereRef('expiry_notices.domain_id', '=', 'domains.id')
            .where('stage', '=', stage.name)
            .where(isOfTerm)
            .where(({ eb, or }) => or([eb('sent_at', 'is not', null), eb('lease_until', '>', now)])),
        ),
      ),
    )
    .orderBy('expires_at')
    .orderBy('id')
    .limit(limit);
  if (after !== undefined) query = query.where(sql<boolean>`(expires_at, id) > (${after.expiresAt}, ${after.id})`);
  return query.$narrowType<{ expires_at: Date }>().execute();
}

export interface ClaimedNotice {
  /** Nobody was told of this stage before. */
  readonly isNew: boolean;
  readonly term_end: Date;
  readonly message_id: string;
}

/** Takes the notice for so long. Undefined: it was sent, or another process has it. The name's row is locked. */
export async function claimNotice(
  db: WorkspaceDb,
  { id, expires_at: termEnd }: EndingName,
  stage: NoticeStage,
  { now, leaseUntil }: { readonly now: Date; readonly leaseUntil: Date },
): Promise<ClaimedNotice | undefined> {
  const [low, high] = [-EXPIRY_TOLERANCE_MS, EXPIRY_TOLERANCE_MS].map((ms) => new Date(termEnd.getTime() + ms));
  const known = await db
    .selectFrom('expiry_notices')
    .select(['term_end', 'message_id', 'lease_until', 'sent_at'])
    .where('domain_id', '=', id)
    .where('stage', '=', stage)
    .where('term_end', '>=', low ?? termEnd)
    .where('term_end', '<=', high ?? termEnd)
    .executeTakeFirst();
  if (known === undefined) {
    const notice = { domain_id: id, term_end: termEnd, stage, message_id: mintId('msg'), lease_until: leaseUntil };
    await db
      .insertInto('expiry_notices')
      .values({ ...notice, sent_at: null })
      .execute();
    return { ...notice, isNew: true };
  }
  if (known.sent_at !== null || known.lease_until > now) return undefined;
  await db
    .updateTable('expiry_notices')
    .set({ lease_until: leaseUntil })
    .where('domain_id', '=', id)
    .where('stage', '=', stage)
    .where('term_end', '=', known.term_end)
    .execute();
  return { ...known, isNew: false };
}

export async function noteSent(
  db: WorkspaceDb,
  domainId: string,
  stage: NoticeStage,
  termEnd: Date,
  now: Date,
): Promise<void> {
  await db
    .updateTable('expiry_notices')
    .set({ sent_at: now })
    .where('domain_id', '=', domainId)
    .where('stage', '=', stage)
    .where('term_end', '=', termEnd)
    .execute();
}
