/** A consent, and what follows from the second one. */
import type { Transaction } from '../../kernel/db/database.ts';
import { hashToken } from '../access/tokens.ts';
import { lockRegistrant, type WorkspaceRegistrant } from '../registrant.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { type MakeDependencies, makeChange } from './make-change.ts';
import { lockChange, type RegistrantChangeRow } from './registrant-change.ts';

/** `unknown`: the code is not known, was used, or is of a change that has ended. Throws `email_taken`. */
export async function consent(
  deps: MakeDependencies,
  tx: Transaction,
  code: string,
): Promise<'unknown' | 'consented' | 'changed'> {
  const codeHash = hashToken(code);
  const found = await systemDb(tx)
    .selectFrom('registrant_changes')
    .select('workspace_id')
    .where(({ eb, or }) => or([eb('present_code_hash', '=', codeHash), eb('next_code_hash', '=', codeHash)]))
    .executeTakeFirst();
  if (found === undefined) return 'unknown';
  const now = deps.clock.now();
  const db = workspaceDb(tx, found.workspace_id);
  const present = await lockRegistrant(db);
  const change = await lockChange(db, now);
  const isPresent = hasHash(change?.present_code_hash, codeHash);
  const isNext = hasHash(change?.next_code_hash, codeHash);
  // It was used, or replaced, before the lock was had.
  if (change === undefined || !(isPresent || isNext)) return 'unknown';
  const isSameAddress = change.email_key === present.email.toLowerCase();
  const presentAt = isPresent ? now : change.present_consented_at;
  const nextAt = isNext || (isPresent && isSameAddress) ? now : change.next_consented_at;
  if (presentAt !== null && nextAt !== null) {
    const next = { ...present, name: change.name, email: change.email, contact: withOrganization(present, change) };
    const { locks_transfers: locksTransfers } = change;
    await makeChange(deps, tx, found.workspace_id, { present, next, locksTransfers, consentedBy: 'registrants' });
    return 'changed';
  }
  await db
    .updateTable('registrant_changes')
    .set({
      present_consented_at: presentAt,
      next_consented_at: nextAt,
      ...(isPresent ? { present_code_hash: null } : { next_code_hash: null }),
    })
    .execute();
  return 'consented';
}

function hasHash(kept: Uint8Array | null | undefined, asked: Uint8Array): boolean {
  return kept != null && Buffer.from(kept).equals(asked);
}

function withOrganization(
  { contact: { organization: _, ...contact } }: WorkspaceRegistrant,
  { organization }: RegistrantChangeRow,
) {
  return { ...contact, ...(organization === null ? {} : { organization }) };
}
