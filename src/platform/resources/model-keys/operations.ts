import type { Config } from '../../../kernel/config/config.ts';
import type { Operation } from '../../../kernel/http/operation.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';

export interface ModelKeyServices {
  readonly vault: Vault;
  readonly outbound: Outbound;
  readonly config: Pick<Config, 'modelPrivateAddresses'>;
}

export function modelKeyOperations(_services: ModelKeyServices): Operation<never>[] {
  return [];
}
