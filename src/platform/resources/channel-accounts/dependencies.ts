import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';

export interface AccountDependencies {
  readonly publicUrl: string;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly outbound: Outbound;
}
