import type { Vault } from '../../../kernel/vault/vault.ts';
import type { McpSurface } from '../../mcp-surface/index.ts';

export interface DeploymentDependencies {
  readonly publicUrl: string;
  readonly vault: Vault;
  readonly mcpSurface: McpSurface;
}
