import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';

export interface ProviderDependencies {
  readonly vault: Pick<Vault, 'seal'>;
  readonly outbound: Pick<Outbound, 'fetch' | 'checkUrl'>;
  readonly jobs: Pick<Jobs, 'enqueue'>;
}
