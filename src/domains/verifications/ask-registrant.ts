/** Begins verifications: for names that have come into a portfolio, and for registrants who have changed. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { appendEvent } from '../events/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import { lockRegistrant, type WorkspaceRegistrant } from '../registrant.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { zoneOf } from '../zone-of-name.ts';
import { type AskingTld, asColumns, askingTldsOf } from './asking-tlds.ts';
import { countRequest, isAskedAbout, lockVerification, removeLinks } from './verification.ts';

export interface AskDependencies {
  readonly clock: Clock;
  readonly prices: Pick<PriceBook, 'list'>;
}

const BATCH_SIZE = 100;

/** Whom names demand it of that nobody was asked about yet, once. Any number of processes may do so at a time. */
export async function askRegistrants(
  deps: AskDependencies & { readonly db: Database },
  signal?: AbortSignal,
): Promise<void> {
  const asking = askingTldsOf(deps.prices, deps.clock.now());
  if (asking.length === 0) return;
  const { rows } = await deps.db.query<{ workspace_id: string }>({
    text: `
      select distinct domain.workspace_id
      from unnest($1::text[], $2::timestamptz[]) as asking (tld, since)
      join domains.domains domain on ${zoneOf('domain.name')} = asking.tld
        and domain.registrant_since >= asking.since
      where domain.state = 'active' and domain.registrant_asked_at is null
      limit $3`,
    values: [...asColumns(asking), BATCH_SIZE],
  });
  for (const { workspace_id: workspaceId } of rows) {
    if (signal?.aborted === true) return;
    await deps.db.transaction((tx) => askRegistrant(deps, tx, workspaceId));
  }
}

/** Where a name demands it that the registrant was not asked about yet. Who is verified is asked nothing. */
async function askRegistrant({ clock, prices }: AskDependencies, tx: Transaction, workspaceId: string): Promise<void> {
  const now = clock.now();
  const asking = askingTldsOf(prices, now);
  if (asking.length === 0) return;
  const db = workspaceDb(tx, workspaceId);
  const registrant = await lockRegistrant(db);
  const verification = await lockVerification(db);
  if (!(await markAsked(tx, workspaceId, asking, now))) return;
  if (verification === undefined) return begin(tx, workspaceId, registrant, now);
  if (verification.verified_at !== null || verification.mail_look_at !== null) return;
  // Of the days of this name nobody has been told.
  await db.updateTable('registrant_verifications').set({ mail_look_at: now }).execute();
}

/** False: no name demands it. */
async function markAsked(
  tx: Transaction,
  workspaceId: string,
  asking: readonly AskingTld[],
  now: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query({
    text: `
      update domains.domains domain set registrant_asked_at = $2
      from unnest($3::text[], $4::timestamptz[]) as asking (tld, since)
      where domain.workspace_id = $1 and domain.state = 'active' and domain.registrant_asked_at is null
        and ${zoneOf('domain.name')} = asking.tld and domain.registrant_since >= asking.since`,
    values: [workspaceId, now, ...asColumns(asking)],
  });
  return rowCount > 0;
}

async function begin(tx: Transaction, workspaceId: string, registrant: WorkspaceRegistrant, now: Date): Promise<void> {
  await workspaceDb(tx, workspaceId)
    .insertInto('registrant_verifications')
    .values({ ...identityOf(registrant), asked_at: now, mail_look_at: now, requests_since: now, requests: 1 })
    .execute();
  await tellAsked(tx, workspaceId, registrant);
}

/**
 * The registrant has another name, organization or address. Who was verified is asked anew, about all names; who was not has the days that are
 * left, so that nobody gains time by a change. The registrant is locked.
 */
export async function noteRegistrantChange(
  deps: AskDependencies,
  tx: Transaction,
  workspaceId: string,
  after: WorkspaceRegistrant,
): Promise<void> {
  const now = deps.clock.now();
  const db = workspaceDb(tx, workspaceId);
  const verification = await lockVerification(db);
  if (verification !== undefined && verification.verified_at === null) {
    const { at, columns } = countRequest(verification, now);
    await removeLinks(db);
    await db
      .updateTable('registrant_verifications')
      .set({ ...identityOf(after), ...columns, mail_look_at: at, message_id: null, mail_problem: null })
      .execute();
    await tellAsked(tx, workspaceId, after);
  } else {
    await db.deleteFrom('registrant_verifications').execute();
    await db.updateTable('domains').set({ registrant_asked_at: null }).where('state', '<>', 'gone').execute();
  }
  await db
    .updateTable('domains')
    .set({ registrant_since: now })
    .where('state', '<>', 'gone')
    .where('registrant_asked_at', 'is', null)
    .execute();
  await askRegistrant(deps, tx, workspaceId);
}

/** The operator has reason to doubt the address, such as a message that came back: all names of TLDs that ask are at stake. False: there are none. */
export async function askAgain(
  { clock, prices }: AskDependencies,
  tx: Transaction,
  workspaceId: string,
): Promise<boolean> {
  const now = clock.now();
  const asking = askingTldsOf(prices, now).map(({ tld }) => ({ tld, since: new Date(0) }));
  const db = workspaceDb(tx, workspaceId);
  const registrant = await lockRegistrant(db);
  const verification = await lockVerification(db);
  await markAsked(tx, workspaceId, asking, now);
  if (!(await isAskedAbout(db))) return false;
  if (verification !== undefined && verification.verified_at === null) {
    await db.updateTable('registrant_verifications').set({ mail_look_at: now, message_id: null }).execute();
    return true;
  }
  await db.deleteFrom('registrant_verifications').execute();
  await begin(tx, workspaceId, registrant, now);
  return true;
}

export function identityOf({ contact, email, name }: Pick<WorkspaceRegistrant, 'name' | 'email' | 'contact'>) {
  return { name, email, organization: contact.organization ?? null };
}

/** Whether they are the same registrant. */
export function isSameIdentity(
  one: Pick<WorkspaceRegistrant, 'name' | 'email' | 'contact'>,
  other: Pick<WorkspaceRegistrant, 'name' | 'email' | 'contact'>,
): boolean {
  return JSON.stringify(identityOf(one)) === JSON.stringify(identityOf(other));
}

async function tellAsked(tx: Transaction, workspaceId: string, { email }: WorkspaceRegistrant): Promise<void> {
  await appendEvent(tx, workspaceId, { type: 'registrant.verification_requested', data: { email } });
}
