import { ApiError } from '../../../kernel/http/errors.ts';
import { BUILTIN_EMBED_MODEL, loadModelKeys, parseEmbeddingModelId, providerInfo } from '../../models/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';

const PARAM = 'embedding_model';

/**
 * The model in full, `provider/model`, as far as it can be proven without a call that costs: its provider is known, has
 * embedding models, and a key of the tenant's, or of the smith's. Throws `unknown_provider`, `model_key_missing` and
 * `invalid_request`.
 */
export async function proveEmbeddingModel(
  db: TenantDb,
  modelId: string | null | undefined,
  smithId: string | null,
): Promise<string> {
  const { provider, model } = parse(modelId ?? BUILTIN_EMBED_MODEL);
  if (providerInfo(provider).needsKey) {
    const keys = await loadModelKeys(db, smithId ?? '');
    if (!keys.some((key) => key.provider === provider)) {
      throw new ApiError('model_key_missing', {
        param: PARAM,
        message: `No key is stored for the model provider ${provider}. Store one with PUT /v1/tenant/model_keys/${provider}, or use ${BUILTIN_EMBED_MODEL}, which needs none.`,
      });
    }
  }
  return `${provider}/${model}`;
}

function parse(modelId: string) {
  try {
    return parseEmbeddingModelId(modelId);
  } catch (error) {
    if (error instanceof ApiError) throw new ApiError(error.code, { message: error.message, param: PARAM });
    throw error;
  }
}
