/** Opens the model of a turn with the key that applies: the smith's own before its tenant's. */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { openModel, parseModelId } from '../models/index.ts';
import type { StoredModelKey } from './load-smith-turn.ts';

export interface ModelOpener {
  /** Throws `model_key_missing`, `bedrock_unconfigured` and `unknown_provider`. */
  open(projectId: string, modelId: string, keys: readonly StoredModelKey[]): Promise<LanguageModelV4>;
}

/** Where a model key is sealed to: its project, owner and provider. */
export function modelKeyContext(projectId: string, smithId: string, provider: string): string {
  return `model_keys/${projectId}/${smithId}/${provider}`;
}

/**
 * A tenant's base URL may be a private address (Ollama and vLLM usually are) unless the operator says otherwise; a
 * smith's own key comes from an end user, whose address must be public.
 */
export function createModelOpener(vault: Vault, outbound: Outbound, allowPrivate: boolean): ModelOpener {
  return {
    async open(projectId, modelId, keys) {
      const { provider } = parseModelId(modelId);
      const key = keys.find((candidate) => candidate.provider === provider);
      // Without a key only a provider's own address is called, which for Ollama and its like is this machine.
      if (key === undefined) return openModel(modelId, undefined, outbound.fetch(allowPrivate ? 'private' : 'public'));
      const policy = key.smith_id === '' && allowPrivate ? 'private' : 'public';
      const credentials = {
        apiKey: vault.open(key.sealed_api_key, modelKeyContext(projectId, key.smith_id, provider)),
        ...(key.base_url === null ? {} : { baseUrl: key.base_url }),
        ...(key.workspace_id === null ? {} : { workspaceId: key.workspace_id }),
      };
      return openModel(modelId, credentials, outbound.fetch(policy));
    },
  };
}
