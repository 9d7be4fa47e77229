/** Opens the model of a turn with the key that applies: the smith's own before its tenant's. */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { createProviderAccessFinder, openModel, parseModelId, type StoredModelKey } from '../models/index.ts';

export interface ModelOpener {
  /** Throws `model_key_missing`, `bedrock_unconfigured` and `unknown_provider`. */
  open(projectId: string, modelId: string, keys: readonly StoredModelKey[]): Promise<LanguageModelV4>;
}

export function createModelOpener(vault: Vault, outbound: Outbound, allowPrivate: boolean): ModelOpener {
  const findAccess = createProviderAccessFinder(vault, outbound, allowPrivate);
  return {
    async open(projectId, modelId, keys) {
      const { provider } = parseModelId(modelId);
      const { credentials, fetch } = findAccess(projectId, provider, keys);
      return openModel(modelId, credentials, fetch);
    },
  };
}
