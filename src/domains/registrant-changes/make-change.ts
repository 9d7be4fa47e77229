/** What a change of who the registrant is leads to, once it is consented to. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { appendEvent } from '../events/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import { isAddressTaken, saveAddress, saveRegistrant, type WorkspaceRegistrant } from '../registrant.ts';
import { addDays } from '../registry/term.ts';
import { confirmAddress, noteRegistrantChange } from '../verifications/index.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { zoneOf } from '../zone-of-name.ts';
import { type ConsentingTld, consentingTldsOf, endChange } from './registrant-change.ts';
import { type ChangedJob, TELL_CHANGED } from './send-consents.ts';
import { tellRegistries } from './tell-registries.ts';

export interface MakeDependencies {
  readonly clock: Clock;
  readonly jobs: Jobs;
  readonly prices: Pick<PriceBook, 'list'>;
}

export interface ConsentedChange {
  readonly present: WorkspaceRegistrant;
  readonly next: WorkspaceRegistrant;
  readonly locksTransfers: boolean;
  /** Whoever has consented by mail reads that of the address. */
  readonly consentedBy: 'registrants' | 'designated_agent';
}

/** The registrant is locked. Throws `email_taken`. */
export async function makeChange(
  deps: MakeDependencies,
  tx: Transaction,
  workspaceId: string,
  { consentedBy, locksTransfers, next, present }: ConsentedChange,
): Promise<void> {
  const now = deps.clock.now();
  const { email } = next;
  const db = workspaceDb(tx, workspaceId);
  await saveRegistrant(db, next);
  try {
    await saveAddress(db, present.id, { address: email, key: email.toLowerCase() });
  } catch (error) {
    // Somebody has signed up with it meanwhile.
    throw isAddressTaken(error) ? new ApiError('email_taken', { param: 'email' }) : error;
  }
  await endChange(db, now);
  await noteRegistrantChange(deps, tx, workspaceId, next);
  if (consentedBy === 'registrants') await confirmAddress(tx, workspaceId, next, now);
  await tellRegistries(tx, workspaceId, next, now);
  const locking = locksTransfers ? consentingTldsOf(deps.prices, now) : [];
  await lockTransfers(tx, workspaceId, { locking, now });
  const [before, after] = [present, next].map(({ contact, email, name }) => ({
    name,
    organization: contact.organization ?? null,
    email,
  })) as [ChangedJob['before'], ChangedJob['after']];
  await appendEvent(tx, workspaceId, {
    type: 'registrant.changed',
    data: { ...after, previous: before, consented_by: consentedBy },
  });
  for (const to of new Set([present.email, email])) {
    const job: ChangedJob = { to, before, after, consentedBy, locksTransfers };
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
        and ${zoneOf('domain.name')} = locks.tld`,
    values: [workspaceId, locks.map(({ tld }) => tld), locks.map(({ lockDays }) => addDays(now, lockDays))],
  });
}
