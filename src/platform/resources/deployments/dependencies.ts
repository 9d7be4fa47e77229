import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Channel } from '../../channels/index.ts';
import type { McpSurface } from '../../mcp-surface/index.ts';

export interface DeploymentDependencies {
  readonly publicUrl: string;
  readonly vault: Vault;
  readonly outbound: Outbound;
  readonly jobs: Jobs;
  readonly mcpSurface: McpSurface;
  readonly clock: Clock;
  /** The messaging channels that this server serves, by kind. */
  readonly channels: ReadonlyMap<string, Channel>;
}
