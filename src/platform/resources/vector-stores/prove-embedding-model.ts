import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { BUILTIN_EMBED_MODEL } from '../../knowledge/embed/index.ts';
import { parseModelId, providerInfo } from '../../models/index.ts';
import { tenantDb } from '../../tenant-scope.ts';
import { listKeyedProviders, TENANT_OWNER } from '../model-keys/index.ts';

const PARAM = 'embedding_model';
const BUILT_IN = 'builtin';

/**
 * The model in full, `provider/model`, as far as it can be proven without a call that costs: its provider is known and
 * has a key of the tenant's, or of the smith's. Throws `unknown_provider`, `model_key_missing`, `invalid_request` and
 * `embedding_unavailable`.
 */
export async function proveEmbeddingModel(
  tx: Executor,
  projectId: string,
  modelId: string | undefined,
  smithId: string | null,
): Promise<string> {
  if (modelId === undefined || modelId === BUILTIN_EMBED_MODEL) return BUILTIN_EMBED_MODEL;
  const { provider, model } = parseEmbeddingModel(modelId);
  if (provider === BUILT_IN) {
    throw new ApiError('embedding_unavailable', {
      param: PARAM,
      message: `${modelId} makes no vectors. The built-in model that does is ${BUILTIN_EMBED_MODEL}.`,
    });
  }
  if (providerInfo(provider).needsKey) {
    const owners = smithId === null ? [TENANT_OWNER] : [TENANT_OWNER, smithId];
    const keyed = await listKeyedProviders(tenantDb(tx, projectId), owners);
    if (!keyed.includes(provider)) {
      throw new ApiError('model_key_missing', {
        param: PARAM,
        message: `No key is stored for the model provider ${provider}. Store one with PUT /v1/tenant/model_keys/${provider}, or use ${BUILTIN_EMBED_MODEL}, which needs none.`,
      });
    }
  }
  return `${provider}/${model}`;
}

function parseEmbeddingModel(modelId: string) {
  try {
    return parseModelId(modelId);
  } catch (error) {
    if (error instanceof ApiError) throw new ApiError(error.code, { message: error.message, param: PARAM });
    throw error;
  }
}
