import type { LanguageModelV4 } from '@ai-sdk/provider';
import { ApiError } from '../../kernel/http/errors.ts';
import { type BedrockCredentials, readBedrockCredentials } from './bedrock-credentials.ts';
import { parseModelId } from './catalogue.ts';
import { identifyModel } from './model-identity.ts';
import { getProvider, type ProviderInfo } from './providers.ts';

/** A stored model key, decrypted. */
export interface ModelCredentials {
  readonly apiKey: string;
  readonly baseUrl?: string | undefined;
  readonly workspaceId?: string | undefined;
}

type Fetch = typeof globalThis.fetch;

interface Endpoint {
  readonly model: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  /** Whether the address is the vendor's own, so that newer interfaces than the widely copied one can be counted on. */
  readonly vendorHost: boolean;
  readonly workspaceId: string | undefined;
  readonly fetch: Fetch;
}

/** Local servers without authentication still want the header to be well formed. */
const NO_KEY = 'none';

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
): Promise<LanguageModelV4> {
  const { provider, model } = parseModelId(modelId);
  const id = `${provider}/${model}`;
  if (provider === 'builtin') {
    const { createDemoModel } = await import('./builtin-demo.ts');
    return identifyModel(createDemoModel(), id, []);
  }
  if (provider === 'bedrock') return openBedrock(model, credentials, fetch);

  const endpoint = readEndpoint(model, getProvider(provider), credentials, fetch);
  const opened = await openEndpoint(provider, endpoint);
  return identifyModel(opened, id, credentials === undefined ? [] : [credentials.apiKey]);
}

async function openEndpoint(provider: string, endpoint: Endpoint): Promise<LanguageModelV4> {
  const { apiKey, baseUrl: baseURL, fetch, model } = endpoint;
  switch (provider) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const project = endpoint.workspaceId === undefined ? {} : { project: endpoint.workspaceId };
      const openai = createOpenAI({ apiKey, baseURL, fetch, ...project });
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

function readEndpoint(
  model: string,
  info: ProviderInfo,
  credentials: ModelCredentials | undefined,
  fetch: Fetch,
): Endpoint {
  const apiKey = credentials?.apiKey.trim() ?? '';
  if (info.needsKey && apiKey === '') throw refuseMissingKey(info);
  const baseUrl = credentials?.baseUrl?.trim().replace(/\/+$/, '') || info.defaultBaseUrl;
  if (baseUrl === undefined) throw refuseMissingKey(info);
  return {
    model,
    apiKey: apiKey || NO_KEY,
    baseUrl,
    vendorHost: isVendorHost(baseUrl, info.defaultBaseUrl),
    workspaceId: info.supportsWorkspaceId ? credentials?.workspaceId : undefined,
    fetch,
  };
}

/** The vendor's host or a regional one below it: `eu.api.openai.com`. */
function isVendorHost(baseUrl: string, defaultBaseUrl: string | undefined): boolean {
  if (defaultBaseUrl === undefined || !URL.canParse(baseUrl)) return false;
  const host = new URL(baseUrl).hostname;
  const vendor = new URL(defaultBaseUrl).hostname;
  return host === vendor || host.endsWith(`.${vendor}`);
}

async function openBedrock(
  model: string,
  credentials: ModelCredentials | undefined,
  fetch: Fetch,
): Promise<LanguageModelV4> {
  const baseUrl = credentials?.baseUrl?.trim().replace(/\/+$/, '') || undefined;
  const read = readBedrockCredentials(credentials?.apiKey ?? '', baseUrl);
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
  const bedrock = createAmazonBedrock({
    region: read.region,
    baseURL: baseUrl ?? `https://bedrock-runtime.${read.region}.${awsDomain(read.region)}`,
    fetch,
    // The empty key keeps the package from taking a bearer token of the machine in place of the tenant's signature.
    apiKey: read.apiKey ?? '',
    ...(read.accessKeyId === undefined ? {} : { accessKeyId: read.accessKeyId }),
    ...(read.secretAccessKey === undefined ? {} : { secretAccessKey: read.secretAccessKey }),
    ...(read.sessionToken === undefined ? {} : { sessionToken: read.sessionToken }),
  });
  return identifyModel(bedrock(model), `bedrock/${model}`, listSecrets(read));
}

function awsDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

function listSecrets(read: BedrockCredentials): string[] {
  const secrets = [read.apiKey, read.secretAccessKey, read.sessionToken, read.accessKeyId];
  return secrets.filter((secret) => secret !== undefined);
}

function refuseMissingKey(info: ProviderInfo): ApiError {
  const members = info.baseUrlRequired ? 'api_key and base_url' : 'api_key';
  return new ApiError('model_key_missing', {
    message:
      `No key is stored for the model provider ${info.provider}. Store its ${members} with ` +
      `PUT /v1/tenant/model_keys/${info.provider}, or use builtin/demo, which needs none.`,
    param: 'model',
  });
}
