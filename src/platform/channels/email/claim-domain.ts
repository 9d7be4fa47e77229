/** A project takes a mail domain: what its DNS says decides, and who was first does not. */
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { removeAccount } from '../accounts/account-store.ts';
import { ACCOUNTS_CHANNEL } from '../accounts/channel.ts';
import { disconnectKind } from '../disconnect-deployments.ts';
import { findProof, proofRecord } from './domain-proof.ts';
import type { LookUpDns } from './read-mail/look-up-dns.ts';

export interface ClaimDependencies {
  readonly db: Database;
  readonly lookUpDns: LookUpDns;
}

/** Throws `verification_failed`, which names the record that is missing. */
export async function claimDomain(deps: ClaimDependencies, projectId: string, domain: string): Promise<void> {
  const { name, value } = proofRecord(projectId, domain);
  switch (await findProof(deps.lookUpDns, projectId, domain)) {
    case 'missing':
      throw refuse(
        `The DNS does not say that ${domain} is this project’s. Enter the TXT record ${name} with the value "${value}" where the names of the domain are kept, leave it there, and send this again once the DNS has it.`,
      );
    case 'unanswered':
      throw refuse(`The DNS gives no answer for ${name}, which has to be the TXT record "${value}". Try again later.`);
    case 'proven':
      return takeFromOthers(deps, projectId, domain);
  }
}

/** Whoever has the domain and whose record is gone from its DNS has it no longer. */
async function takeFromOthers({ db, lookUpDns }: ClaimDependencies, projectId: string, domain: string): Promise<void> {
  const { rows } = await db.query<{ project_id: string }>({
    text: `select project_id from channel_accounts where kind = 'email' and account_id = $1 and project_id <> $2`,
    values: [domain, projectId],
  });
  const holder = rows[0]?.project_id;
  if (holder === undefined || (await findProof(lookUpDns, holder, domain)) !== 'missing') return;
  await new TenantDatabase(db, holder).transaction(async (tx) => {
    if ((await removeAccount(tx, 'email', domain)) === undefined) return;
    await disconnectKind(tx, 'email');
    await tx.notify(ACCOUNTS_CHANNEL, tx.projectId);
  });
}

function refuse(message: string): ApiError {
  return new ApiError('verification_failed', { param: 'domain', message });
}
