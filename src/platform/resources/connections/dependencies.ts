import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Connections } from '../../connections/index.ts';

export interface ConnectionOperationDependencies {
  readonly vault: Pick<Vault, 'seal'>;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly connections: Connections;
  readonly publicUrl: string;
}
