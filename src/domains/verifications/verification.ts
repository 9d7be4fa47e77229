/**
 * ICANN's Registrar Accreditation Agreement (its Whois Accuracy Program Specification, 1.f, 2 and 4) has registrars find out whether a
 * registrant's e-mail address is right: by a message whose reader answers, within 15 days of a registration, a transfer in or a change of the
 * registrant. The names of a registrant who does not are suspended until then. One confirmation counts for all names of a workspace, as they
 * have one registrant.
 *
 *            a name of a TLD that asks, or a change of the registrant who has one          the link's button, or the operator
 *   (none) ────────────▶ asked ──first message accepted, or its address refused──▶ waiting ──────────────▶ verified
 *     ▲                    ▲                                                          │ 15 days               ▲ │ the operator doubts it
 *     │                    │                                                          ▼                       │ └────▶ asked
 *     │                    │                              the names are suspended: overdue ───────────────────┘
 *     └─ the registrant changes, and is asked where a name demands it ─┘ while waiting or overdue the days go on as they were
 *
 * No message, no days: a mail server that is away suspends nobody. A registrant who has let the days pass and gets another name has 15 more for
 * that one. Messages hold a link whose code is nowhere else; there may be several, and all are void once one was used.
 */
import type { Selectable } from 'kysely';
import { addDays } from '../registry/term.ts';
import type { WorkspaceTables } from '../tables.ts';
import type { WorkspaceDb } from '../workspace-scope.ts';

export type VerificationRow = Selectable<WorkspaceTables['registrant_verifications']>;

export const VERIFY_DAYS = 15;
/** Longer than names take to be suspended: the last message before that leads somewhere, and so does the one about it. */
export const LINK_DAYS = 30;
/** Before names are suspended. */
const REMINDER_DAYS = [10, 5, 1];

const HOUR_MS = 3_600_000;
/** Messages that one registrant can ask for, or cause. */
const MOST_AN_HOUR = 5;

export type VerificationState = 'not_required' | 'waiting' | 'overdue' | 'verified';

export function stateOf(row: VerificationRow | undefined, now: Date): VerificationState {
  if (row === undefined) return 'not_required';
  if (row.verified_at !== null) return 'verified';
  return row.suspend_at !== null && row.suspend_at <= now ? 'overdue' : 'waiting';
}

/** Null: there is nothing to remind of any more. */
export function nextReminder(suspendAt: Date, now: Date): Date | null {
  return REMINDER_DAYS.map((days) => addDays(suspendAt, -days)).find((at) => at > now) ?? null;
}

type Requests = Pick<VerificationRow, 'requests' | 'requests_since'>;

/** Counts one message more; `at`: when there can be the next, where there were too many lately. */
export function countRequest(row: Requests, now: Date): { readonly at: Date; readonly columns: Requests } {
  const { requests, requests_since: since } = row;
  const end = since === null ? now : new Date(since.getTime() + HOUR_MS);
  if (end <= now) return { at: now, columns: { requests: 1, requests_since: now } };
  if (requests >= MOST_AN_HOUR) return { at: end, columns: { requests, requests_since: since } };
  return { at: now, columns: { requests: requests + 1, requests_since: since } };
}

export function findVerification(db: WorkspaceDb): Promise<VerificationRow | undefined> {
  return db.selectFrom('registrant_verifications').selectAll().executeTakeFirst();
}

/** Locked until the transaction ends. After the registrant, and before names. */
export function lockVerification(db: WorkspaceDb): Promise<VerificationRow | undefined> {
  return db.selectFrom('registrant_verifications').selectAll().forUpdate().executeTakeFirst();
}

export async function removeLinks(db: WorkspaceDb): Promise<void> {
  await db.deleteFrom('registrant_links').execute();
}

/** Whether there is a name that is suspended unless its registrant is verified. */
export async function isAskedAbout(db: WorkspaceDb): Promise<boolean> {
  const name = await db
    .selectFrom('domains')
    .select('id')
    .where('state', '=', 'active')
    .where('registrant_asked_at', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return name !== undefined;
}

/** Has a message sent, where there is something to confirm. Answers when it can be asked for again, where there were too many. */
export async function requestMessage(db: WorkspaceDb, now: Date): Promise<Date | undefined> {
  const row = await lockVerification(db);
  if (row === undefined || row.verified_at !== null) return undefined;
  const { at, columns } = countRequest(row, now);
  if (at > now) return at;
  await db
    .updateTable('registrant_verifications')
    .set({ ...columns, mail_look_at: now, message_id: null })
    .execute();
  return undefined;
}
