import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';

export interface AccountDependencies {
  readonly db: Database;
  readonly publicUrl: string;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly outbound: Outbound;
}
