import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { ApiError } from '../../kernel/http/errors.ts';
import {
  bedrockOptions,
  type Endpoint,
  type Fetch,
  type ModelCredentials,
  openAiOptions,
  readEndpoint,
} from './endpoint.ts';
import { type ModelRef, splitModelId } from './model-id.ts';
import { identifyModel } from './model-identity.ts';
import { getProvider } from './providers.ts';

/** The model that runs on this server, without a key. */
export const BUILTIN_EMBED_MODEL = 'builtin/embed';

const MODEL_NAME_MAX = 256;
/** Clients of the OpenAI dialect name its models bare: `text-embedding-3-small`. */
const BARE_NAME_PROVIDER = 'openai';
/** They publish no embedding model. */
const WITHOUT_EMBEDDINGS: ReadonlySet<string> = new Set(['anthropic']);

/**
 * Reads the id of an embedding model: `provider/model`, or the bare name of one of OpenAI's. Throws `unknown_provider`,
 * or `invalid_request` with param `model`.
 */
export function parseEmbeddingModelId(id: string): ModelRef {
  if (id === '' || id.length > MODEL_NAME_MAX) {
    throw refuseModel(`A model is named by provider/model, in at most ${MODEL_NAME_MAX} characters.`);
  }
  const { provider, model } = splitModelId(id);
  if (provider === '' && !id.startsWith('/')) return { provider: BARE_NAME_PROVIDER, model };
  getProvider(provider);
  if (model === '')
    throw refuseModel(`"${id}" names no model. Write it as provider/model, for example ${BUILTIN_EMBED_MODEL}.`);
  if (provider === 'builtin' && id !== BUILTIN_EMBED_MODEL) {
    throw refuseModel(`The built-in provider has one embedding model: ${BUILTIN_EMBED_MODEL}.`);
  }
  if (WITHOUT_EMBEDDINGS.has(provider)) {
    throw refuseModel(
      `${provider} has no embedding models. Use ${BUILTIN_EMBED_MODEL}, or a model of another provider, such as openai/text-embedding-3-small.`,
    );
  }
  return { provider, model };
}

/**
 * Makes the embedding model of a provider, as `openModel` makes that of a turn. `builtin/embed` is not one of them.
 *
 * Throws what `parseEmbeddingModelId` throws, `model_key_missing` and `bedrock_unconfigured`.
 */
export async function openEmbeddingModel(
  modelId: string,
  credentials: ModelCredentials | undefined,
  fetch: Fetch,
): Promise<EmbeddingModelV4> {
  const { provider, model } = parseEmbeddingModelId(modelId);
  const id = `${provider}/${model}`;
  if (provider === 'bedrock') {
    const { options, secrets } = bedrockOptions(credentials, fetch);
    const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
    return identifyModel(createAmazonBedrock(options).embeddingModel(model), id, secrets);
  }
  const endpoint = readEndpoint(model, getProvider(provider), credentials, fetch, BUILTIN_EMBED_MODEL);
  const opened = await openEndpoint(provider, endpoint);
  return identifyModel(opened, id, credentials === undefined ? [] : [credentials.apiKey]);
}

async function openEndpoint(provider: string, endpoint: Endpoint): Promise<EmbeddingModelV4> {
  const { apiKey, baseUrl: baseURL, fetch, model } = endpoint;
  switch (provider) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI(openAiOptions(endpoint)).embeddingModel(model);
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ apiKey, baseURL, fetch }).embeddingModel(model);
    }
    case 'mistral': {
      const { createMistral } = await import('@ai-sdk/mistral');
      return createMistral({ apiKey, baseURL, fetch }).embeddingModel(model);
    }
    default: {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      return createOpenAICompatible({ name: provider, apiKey, baseURL, fetch }).embeddingModel(model);
    }
  }
}

function refuseModel(message: string): ApiError {
  return new ApiError('invalid_request', { message, param: 'model' });
}
