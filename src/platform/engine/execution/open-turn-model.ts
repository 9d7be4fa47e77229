/** Opens the model of a turn with the key that applies: the smith's own before its tenant's. */
import { LRUCache } from 'lru-cache';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import {
  type ChatModel,
  createProviderAccessFinder,
  findModelKey,
  openModel,
  parseModelId,
  type StoredModelKey,
} from '../../models/index.ts';
import type { ForeignSchemas } from '../../schemas/index.ts';

export interface ModelOpener {
  /** Throws `model_key_missing`, `bedrock_unconfigured` and `unknown_provider`. */
  open(projectId: string, modelId: string, keys: readonly StoredModelKey[]): Promise<ChatModel>;
}

/** Opened models that are kept for later turns, over all tenants. */
const MAX_KEPT = 1_000;

/**
 * Caches opened models: unsealing a key and setting up a provider's package takes longer than a turn's own work. The
 * cache key includes the sealed key, so that a replaced or deleted one is not used again.
 */
export function createModelOpener(
  vault: Vault,
  outbound: Outbound,
  allowPrivate: boolean,
  schemas: ForeignSchemas,
): ModelOpener {
  const findAccess = createProviderAccessFinder(vault, outbound, allowPrivate);
  const kept = new LRUCache<string, ChatModel>({ max: MAX_KEPT });
  return {
    async open(projectId, modelId, keys) {
      const { provider } = parseModelId(modelId);
      const name = JSON.stringify([modelId, projectId, findModelKey(keys, provider)]);
      const known = kept.get(name);
      if (known !== undefined) return known;
      const { credentials, waysOut } = findAccess(projectId, provider, keys);
      const model = await openModel(modelId, credentials, waysOut, schemas.instanceMaker(projectId));
      kept.set(name, model);
      return model;
    },
  };
}
