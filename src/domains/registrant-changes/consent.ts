/** A consent, and what follows from the second one. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { hashToken } from '../access/tokens.ts';
import { appendEvent } from '../events/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import {
  isAddressTaken,
  lockRegistrant,
  saveAddress,
  saveRegistrant,
  type WorkspaceRegistrant,
} from '../registrant.ts';
import { addDays } from '../registry/term.ts';
import { confirmAddress, noteRegistrantChange } from '../verifications/index.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import {
  type ConsentingTld,
  consentingTldsOf,
  endChange,
  lockChange,
  type RegistrantChangeRow,
} from './registrant-change.ts';
import { type ChangedJob, TELL_CHANGED } from './send-consents.ts';
import { tellRegistries } from './tell-registries.ts';

interface ConsentDependencies {
  readonly clock: Clock;
  readonly jobs: Jobs;
  readonly prices: Pick<PriceBook, 'list'>;
}

/** `unknown`: the code is not known, was used, or is of a change that has ended. Throws `email_taken`. */
export async function consent(
  deps: ConsentDependencies,
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
    await make(deps, tx, found.workspace_id, { change, now, present });
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

async function make(
  deps: ConsentDependencies,
  tx: Transaction,
  workspaceId: string,
  {
    change,
    now,
    present,
  }: { readonly change: RegistrantChangeRow; readonly now: Date; readonly present: WorkspaceRegistrant },
): Promise<void> {
  const { email, email_key: key, name, organization } = change;
  const { organization: _, ...contact } = present.contact;
  const after = {
    ...present,
    name,
    email,
    contact: { ...contact, ...(organization === null ? {} : { organization }) },
  };
  const db = workspaceDb(tx, workspaceId);
  await saveRegistrant(db, after);
  try {
    await saveAddress(db, present.id, { address: email, key });
  } catch (error) {
    // Somebody has signed up with it meanwhile.
    throw isAddressTaken(error) ? new ApiError('email_taken', { param: 'email' }) : error;
  }
  await endChange(db, now);
  await noteRegistrantChange(deps, tx, workspaceId, after);
  // Whoever has consented reads the mail of the address.
  await confirmAddress(tx, workspaceId, after, now);
  await tellRegistries(tx, workspaceId, after, now);
  const locking = change.locks_transfers ? consentingTldsOf(deps.prices, now) : [];
  await lockTransfers(tx, workspaceId, { locking, now });
  const before = { name: present.name, organization: present.contact.organization ?? null, email: present.email };
  const wanted = { name, organization, email };
  await appendEvent(tx, workspaceId, { type: 'registrant.changed', data: { ...wanted, previous: before } });
  for (const to of new Set([present.email, email])) {
    const job: ChangedJob = { to, before, after: wanted };
    await deps.jobs.enqueue(tx, TELL_CHANGED, job);
  }
}

async function lockTransfers(
  tx: Transaction,
  workspaceId: string,
  { locking, now }: { readonly locking: readonly ConsentingTld[]; readonly now: Date },
): Promise<void> {
  const locks = locking.filter(({ lockDays }) => lockDays > 0);
  await tx.query({
    text: `
      update domains.domains domain set
        transfer_locked_until = locks.until,
        change_wanted = domain.change_wanted || '{"transferLocked": true}'::jsonb
      from unnest($2::text[], $3::timestamptz[]) as locks (tld, until)
      where domain.workspace_id = $1 and domain.state <> 'gone'
        and substring(domain.name from position('.' in domain.name) + 1) = locks.tld`,
    values: [workspaceId, locks.map(({ tld }) => tld), locks.map(({ lockDays }) => addDays(now, lockDays))],
  });
}
