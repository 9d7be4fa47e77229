import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { MakeInstance } from '../schemas/index.ts';
import { DEMO_MODEL_ID, parseModelId } from './catalogue.ts';
import {
  bedrockOptions,
  type Endpoint,
  type Fetch,
  type ModelCredentials,
  openAiOptions,
  readEndpoint,
} from './endpoint.ts';
import { identifyModel } from './model-identity.ts';
import { getProvider } from './providers.ts';

/**
 * Makes the model for a turn. The provider's package is loaded at its first use. Everything a package would look up in
 * the environment when left out (key, address, region) is passed explicitly, and every request goes through `fetch`.
 *
 * Throws `unknown_provider`, `invalid_request` (param `model`), `model_key_missing` where the provider needs a key or an
 * address and `credentials` has none, `bedrock_unconfigured` where Bedrock's are absent or unreadable.
 */
export async function openModel(
  modelId: string,
  credentials: ModelCredentials | undefined,
  fetch: Fetch,
  makeInstance: MakeInstance,
): Promise<LanguageModelV4> {
  const { provider, model } = parseModelId(modelId);
  const id = `${provider}/${model}`;
  if (provider === 'builtin') {
    const { createDemoModel } = await import('./builtin-demo.ts');
    return identifyModel(createDemoModel(makeInstance), id, []);
  }
  if (provider === 'bedrock') return openBedrock(model, credentials, fetch);

  const endpoint = readEndpoint(model, getProvider(provider), credentials, fetch, DEMO_MODEL_ID);
  const opened = await openEndpoint(provider, endpoint);
  return identifyModel(opened, id, credentials === undefined ? [] : [credentials.apiKey]);
}

async function openEndpoint(provider: string, endpoint: Endpoint): Promise<LanguageModelV4> {
  const { apiKey, baseUrl: baseURL, fetch, model } = endpoint;
  switch (provider) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const openai = createOpenAI(openAiOptions(endpoint));
      // Servers that copy the interface lack /responses.
      return endpoint.vendorHost ? openai(model) : openai.chat(model);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ apiKey, baseURL, fetch })(model);
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ apiKey, baseURL, fetch })(model);
    }
    case 'mistral': {
      const { createMistral } = await import('@ai-sdk/mistral');
      return createMistral({ apiKey, baseURL, fetch })(model);
    }
    case 'xai': {
      // The package speaks /responses only.
      if (!endpoint.vendorHost) return openCompatible(provider, endpoint);
      const { createXai } = await import('@ai-sdk/xai');
      return createXai({ apiKey, baseURL, fetch })(model);
    }
    default:
      return openCompatible(provider, endpoint);
  }
}

async function openCompatible(name: string, endpoint: Endpoint): Promise<LanguageModelV4> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const { apiKey, baseUrl: baseURL, fetch } = endpoint;
  // Without includeUsage most servers report no token counts on a stream.
  const compatible = createOpenAICompatible({
    name,
    apiKey,
    baseURL,
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  return compatible(endpoint.model);
}

async function openBedrock(
  model: string,
  credentials: ModelCredentials | undefined,
  fetch: Fetch,
): Promise<LanguageModelV4> {
  const { options, secrets } = bedrockOptions(credentials, fetch);
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
  return identifyModel(createAmazonBedrock(options)(model), `bedrock/${model}`, secrets);
}
