/**
 * A change of who the registrant is: name, organization or e-mail address. ICANN's transfer policy (II.C) wants the present and the next registrant
 * to consent to it, each by the mail that they read, and locks transfers afterwards. Codes for transfers and links for signing in are mailed to
 * the address as well, so that another one always takes both consents, and other changes do where a TLD of the workspace's names wants it.
 *
 *   (none) ──PATCH /registrant──▶ waiting ──the second consent──▶ made: names, locks, messages
 *                                  │  ▲ another change replaces it
 *                                  └──▶ ended: taken back, or two weeks are over
 *
 * Where both have one address one message and one consent are enough. A consent is to what its message said: another change has other links. A registrant
 * who has authorized the registrar to consent (designated-agent.ts) waits for none where the TLDs let it, but for another address.
 */
import type { Selectable } from 'kysely';
import { isUnder } from '../portfolio/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import type { WorkspaceTables } from '../tables.ts';
import type { WorkspaceDb } from '../workspace-scope.ts';

export type RegistrantChangeRow = Selectable<WorkspaceTables['registrant_changes']>;

/** What waits for consents, in the address's own spelling. */
export interface WantedRegistrant {
  readonly name: string;
  readonly organization: string | null;
  readonly email: string;
}

export const CONSENT_DAYS = 14;

/** The one that waits. */
export async function findChange(db: WorkspaceDb, now: Date): Promise<RegistrantChangeRow | undefined> {
  return waiting(db, now).executeTakeFirst();
}

/** Locked until the transaction ends; after the registrant. */
export async function lockChange(db: WorkspaceDb, now: Date): Promise<RegistrantChangeRow | undefined> {
  return waiting(db, now).forUpdate().executeTakeFirst();
}

function waiting(db: WorkspaceDb, now: Date) {
  return db.selectFrom('registrant_changes').selectAll().where('ended_at', 'is', null).where('expires_at', '>', now);
}

/** Links of it lead nowhere any more. */
export async function endChange(db: WorkspaceDb, now: Date): Promise<void> {
  await db
    .updateTable('registrant_changes')
    .set({ ended_at: now, present_code_hash: null, next_code_hash: null })
    .where('ended_at', 'is', null)
    .execute();
}

export interface ConsentingTld {
  readonly tld: string;
  /** How long transfers are locked after a change; 0: they are not. */
  readonly lockDays: number;
  /** The registrar may consent for who has authorized it. */
  readonly letsAgent: boolean;
}

export function consentingTldsOf(prices: Pick<PriceBook, 'list'>, now: Date): ConsentingTld[] {
  return prices
    .list(now)
    .flatMap(({ changeAgent: letsAgent = false, changeLockDays: lockDays, tld }) =>
      lockDays === undefined ? [] : [{ tld, lockDays, letsAgent }],
    );
}

/** Whether the workspace has a name whose TLD wants the consents. */
export async function wantsConsents(db: WorkspaceDb, tlds: readonly ConsentingTld[]): Promise<boolean> {
  if (tlds.length === 0) return false;
  const name = await db
    .selectFrom('domains')
    .select('id')
    .where('state', '=', 'active')
    .where(isUnder(tlds.map(({ tld }) => tld)))
    .limit(1)
    .executeTakeFirst();
  return name !== undefined;
}
