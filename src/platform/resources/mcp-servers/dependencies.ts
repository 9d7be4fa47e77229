import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Discovery } from '../../mcp/index.ts';
import type { Catalog } from '../catalog/index.ts';

export interface McpServerDependencies {
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly outbound: Pick<Outbound, 'checkUrl'>;
  readonly catalog: Catalog;
  readonly discovery: Discovery;
  readonly jobs: Pick<Jobs, 'enqueue'>;
}
