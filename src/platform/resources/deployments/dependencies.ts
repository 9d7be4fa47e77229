import type { Vault } from '../../../kernel/vault/vault.ts';

export interface DeploymentDependencies {
  readonly publicUrl: string;
  readonly vault: Vault;
}
