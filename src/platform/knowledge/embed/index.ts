/**
 * Text into vectors behind one port. `builtin/embed` runs on this server without a key; every other model is
 * `provider/model` and is reached with the project's model key.
 */

import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Credits } from '../../billing/index.ts';
import {
  BUILTIN_EMBED_MODEL,
  createProviderAccessFinder,
  loadModelKeys,
  type ModelCallLimits,
  openEmbeddingModel,
  parseEmbeddingModelId,
} from '../../models/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { BuiltinEmbedder } from './builtin-embedder.ts';
import type { Embedder } from './embedder.ts';
import { meterEmbedder } from './metered-embedder.ts';
import { createProviderEmbedder } from './provider-embedder.ts';
import { BUILTIN_DIMENSIONS } from './sentence-encoder.ts';

export { BUILTIN_EMBED_MODEL } from '../../models/index.ts';
export { type BuiltinEmbedder, createBuiltinEmbedder } from './builtin-embedder.ts';
export type { Embedder, EmbedOptions, EmbedResult } from './embedder.ts';
export { BUILTIN_DIMENSIONS } from './sentence-encoder.ts';

export interface Embedders {
  /**
   * Throws `model_key_missing`, `bedrock_unconfigured`, `unknown_provider`, and `invalid_request` (param `model`) for a
   * name that is no embedding model's. A bare name is OpenAI's.
   */
  open(projectId: string, modelId: string, user?: EmbeddingUser): Promise<Embedder>;
}

export interface EmbeddingUser {
  /** Whose usage it is. */
  readonly smithId?: string | null | undefined;
  /** The smith whose own model key goes before the project's. Default: the same. */
  readonly keysOf?: string | null | undefined;
  /** The token that asks for it, where its app is to have the usage too. */
  readonly tokenId?: string | null | undefined;
}

export interface EmbeddersDependencies {
  readonly db: Database;
  readonly vault: Vault;
  readonly outbound: Outbound;
  /** Whether a tenant's base URL may be a private address. */
  readonly allowPrivate: boolean;
  /** Patience with model providers, where it differs from the default. */
  readonly modelCall?: Partial<ModelCallLimits> | undefined;
  /** As of `EmbeddingMeter`. */
  readonly budgetWaitMs?: number | undefined;
  /** Who may embed, and what it costs the wallet. */
  readonly credits: Credits;
  /** What `builtin/embed` is done by. */
  readonly builtin: BuiltinEmbedder;
}

export function createEmbedders(deps: EmbeddersDependencies): Embedders {
  const { db, vault, outbound, allowPrivate, modelCall, budgetWaitMs, credits, builtin } = deps;
  const findAccess = createProviderAccessFinder(vault, outbound, allowPrivate);
  return {
    async open(projectId, modelId, { smithId = null, keysOf = smithId, tokenId = null } = {}) {
      const { provider, model } = parseEmbeddingModelId(modelId);
      const id = `${provider}/${model}`;
      const meter = { db, projectId, smithId, tokenId, budgetWaitMs, credits };
      if (id === BUILTIN_EMBED_MODEL) return meterEmbedder(openBuiltin(builtin, projectId), meter);
      const keys = await loadModelKeys(tenantDb(db, projectId), keysOf ?? '');
      const { credentials, waysOut } = findAccess(projectId, provider, keys);
      const embedder = createProviderEmbedder(id, await openEmbeddingModel(id, credentials, waysOut.fetch), modelCall);
      return meterEmbedder(embedder, meter);
    },
  };
}

function openBuiltin(builtin: BuiltinEmbedder, projectId: string): Embedder {
  return {
    model: BUILTIN_EMBED_MODEL,
    async embed(texts, { signal, dimensions = BUILTIN_DIMENSIONS } = {}) {
      if (dimensions !== BUILTIN_DIMENSIONS) {
        throw new ApiError('invalid_request', {
          message: `${BUILTIN_EMBED_MODEL} has ${BUILTIN_DIMENSIONS} dimensions, and no fewer mean anything. Leave \`dimensions\` out.`,
          param: 'dimensions',
        });
      }
      return builtin.embed(projectId, texts, signal);
    },
  };
}
