import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';

export interface WebhookDependencies {
  readonly vault: Vault;
  readonly outbound: Pick<Outbound, 'checkUrl'>;
  readonly clock: Clock;
  readonly jobs: Jobs;
}
