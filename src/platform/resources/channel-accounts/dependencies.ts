import type { Database } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { LookUpDns, MailDomainSettings, OpenedAccounts } from '../../channels/index.ts';

export interface AccountDependencies {
  readonly db: Database;
  readonly publicUrl: string;
  readonly accounts: OpenedAccounts;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly outbound: Outbound;
  readonly lookUpDns: LookUpDns;
  readonly config: MailDomainSettings;
  readonly jobs: Jobs;
}
