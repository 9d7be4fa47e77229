import type { Config } from '../../../kernel/config/config.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';

/** What the operations of model keys need of the server. */
export interface ModelKeyDependencies {
  readonly vault: Pick<Vault, 'seal'>;
  readonly outbound: Pick<Outbound, 'checkUrl'>;
  readonly config: Pick<Config, 'modelPrivateAddresses'>;
}
