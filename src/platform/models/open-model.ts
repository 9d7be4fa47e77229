import type { Post } from '../../kernel/outbound/outbound.ts';
import type { MakeInstance } from '../schemas/index.ts';
import { DEMO_MODEL_ID, parseModelId } from './catalogue.ts';
import type { ChatModel } from './chat-model.ts';
import {
  bedrockOptions,
  type Endpoint,
  type Fetch,
  type ModelCredentials,
  openAiOptions,
  readEndpoint,
  type WaysOut,
} from './endpoint.ts';
import { identifyModel } from './model-identity.ts';
import { getProvider } from './providers.ts';
import { adaptSdkModel } from './sdk-model.ts';

/**
 * Makes the model for a turn. What speaks to its provider is loaded at its first use: a package of the provider's own, or
 * the client of this server for the dialect that the others share. Everything a package would look up in the environment
 * when left out (key, address, region) is passed explicitly, and every request goes by one of the `waysOut`.
 *
 * Throws `unknown_provider`, `invalid_request` (param `model`), `model_key_missing` where the provider needs a key or an
 * address and `credentials` has none, `bedrock_unconfigured` where Bedrock's are absent or unreadable.
 */
export async function openModel(
  modelId: string,
  credentials: ModelCredentials | undefined,
  waysOut: WaysOut,
  makeInstance: MakeInstance,
): Promise<ChatModel> {
  const { provider, model } = parseModelId(modelId);
  const id = `${provider}/${model}`;
  if (provider === 'builtin') {
    const { createDemoModel } = await import('./builtin-demo.ts');
    return identifyModel(createDemoModel(makeInstance), id, []);
  }
  if (provider === 'bedrock') return openBedrock(model, credentials, waysOut.fetch);

  const endpoint = readEndpoint(model, getProvider(provider), credentials, waysOut.fetch, DEMO_MODEL_ID);
  const opened = await openEndpoint(provider, endpoint, waysOut.post);
  return identifyModel(opened, id, credentials === undefined ? [] : [credentials.apiKey]);
}

async function openEndpoint(provider: string, endpoint: Endpoint, post: Post): Promise<ChatModel> {
  const { apiKey, baseUrl: baseURL, fetch, model } = endpoint;
  switch (provider) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const openai = createOpenAI(openAiOptions(endpoint));
      // Servers that copy the interface lack /responses.
      return adaptSdkModel(endpoint.vendorHost ? openai(model) : openai.chat(model));
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return adaptSdkModel(createAnthropic({ apiKey, baseURL, fetch })(model));
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google');
      return adaptSdkModel(createGoogle({ apiKey, baseURL, fetch })(model));
    }
    case 'mistral': {
      const { createMistral } = await import('@ai-sdk/mistral');
      return adaptSdkModel(createMistral({ apiKey, baseURL, fetch })(model));
    }
    case 'xai': {
      // The package speaks /responses only.
      if (!endpoint.vendorHost) return openCompatible(provider, endpoint, post);
      const { createXai } = await import('@ai-sdk/xai');
      return adaptSdkModel(createXai({ apiKey, baseURL, fetch })(model));
    }
    default:
      return openCompatible(provider, endpoint, post);
  }
}

async function openCompatible(provider: string, endpoint: Endpoint, post: Post): Promise<ChatModel> {
  const { createCompatibleModel } = await import('./openai-compatible/compatible-model.ts');
  return createCompatibleModel(provider, endpoint, post);
}

async function openBedrock(model: string, credentials: ModelCredentials | undefined, fetch: Fetch): Promise<ChatModel> {
  const { options, secrets } = bedrockOptions(credentials, fetch);
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
  return identifyModel(adaptSdkModel(createAmazonBedrock(options)(model)), `bedrock/${model}`, secrets);
}
