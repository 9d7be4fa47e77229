/** The end of a verification: by the link that was mailed, or by the operator. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { hashToken } from '../access/tokens.ts';
import { appendEvent } from '../events/index.ts';
import { lockRegistrant, type WorkspaceRegistrant } from '../registrant.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { identityOf } from './ask-registrant.ts';
import { freeNames } from './suspend-names.ts';
import { lockVerification, removeLinks, type VerificationRow } from './verification.ts';

/** False: the code is not known, was used, has ended, or is of a registrant who has changed. */
export async function verifyByLink(
  { clock }: { readonly clock: Clock },
  tx: Transaction,
  code: string,
): Promise<boolean> {
  const codeHash = hashToken(code);
  const found = await systemDb(tx)
    .selectFrom('registrant_links')
    .select('workspace_id')
    .where('code_hash', '=', codeHash)
    .executeTakeFirst();
  if (found === undefined) return false;
  const now = clock.now();
  const db = workspaceDb(tx, found.workspace_id);
  await lockRegistrant(db);
  const verification = await lockVerification(db);
  // Looked at again under the lock: it is used once, and void once the registrant has changed.
  const link = await db
    .selectFrom('registrant_links')
    .select('expires_at')
    .where('code_hash', '=', codeHash)
    .executeTakeFirst();
  if (verification === undefined || link === undefined || link.expires_at <= now) return false;
  await removeLinks(db);
  await db
    .updateTable('registrant_verifications')
    .set({ verified_at: now, verified_by: 'link', mail_problem: null })
    .execute();
  await end(tx, found.workspace_id, { email: verification.email, verified_by: 'link' }, now);
  return true;
}

/** Also of one who was not asked: so that portfolios from elsewhere need no messages. Answers the address. */
export async function verifyByHand(
  { clock }: { readonly clock: Clock },
  tx: Transaction,
  workspaceId: string,
  reason: string,
): Promise<{ readonly email: string }> {
  const now = clock.now();
  const registrant = await lockRegistrant(workspaceDb(tx, workspaceId));
  await save(tx, workspaceId, registrant, { verified_at: now, verified_by: 'operator', verified_reason: reason });
  const { email } = registrant;
  await end(tx, workspaceId, { email, verified_by: 'operator', reason }, now);
  return { email };
}

/** A registrant who has just answered another message to the address. Locked. */
export async function confirmAddress(
  tx: Transaction,
  workspaceId: string,
  registrant: WorkspaceRegistrant,
  now: Date,
): Promise<void> {
  await save(tx, workspaceId, registrant, { verified_at: now, verified_by: 'link', verified_reason: null });
  await end(tx, workspaceId, { email: registrant.email, verified_by: 'link' }, now);
}

interface Verified extends Pick<VerificationRow, 'verified_by' | 'verified_reason'> {
  readonly verified_at: Date;
}

async function save(
  tx: Transaction,
  workspaceId: string,
  registrant: WorkspaceRegistrant,
  verified: Verified,
): Promise<void> {
  const db = workspaceDb(tx, workspaceId);
  if ((await lockVerification(db)) === undefined) {
    const asked = { ...identityOf(registrant), asked_at: verified.verified_at };
    await db
      .insertInto('registrant_verifications')
      .values({ ...asked, ...verified })
      .execute();
    return;
  }
  await removeLinks(db);
  await db
    .updateTable('registrant_verifications')
    .set({ ...verified, mail_problem: null })
    .execute();
}

async function end(
  tx: Transaction,
  workspaceId: string,
  data: Readonly<Record<string, string>>,
  now: Date,
): Promise<void> {
  await freeNames(tx, { now, asking: undefined, workspaceId });
  await appendEvent(tx, workspaceId, { type: 'registrant.verified', data });
}
