/** Where and with what credentials a provider is called: the same for every kind of model. */
import { ApiError } from '../../kernel/http/errors.ts';
import type { Post } from '../../kernel/outbound/outbound.ts';
import { type BedrockCredentials, readBedrockCredentials } from './bedrock-credentials.ts';
import type { ProviderInfo } from './providers.ts';

/** A stored model key, decrypted. */
export interface ModelCredentials {
  readonly apiKey: string;
  readonly baseUrl?: string | undefined;
  readonly workspaceId?: string | undefined;
}

export type Fetch = typeof globalThis.fetch;

/** The guarded ways to a provider. */
export interface WaysOut {
  readonly fetch: Fetch;
  readonly post: Post;
}

export interface Endpoint {
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

/** Throws `model_key_missing` where the provider needs a key or an address and `credentials` has none. */
export function readEndpoint(
  model: string,
  info: ProviderInfo,
  credentials: ModelCredentials | undefined,
  fetch: Fetch,
  offline: string,
): Endpoint {
  const apiKey = credentials?.apiKey.trim() ?? '';
  if (info.needsKey && apiKey === '') throw refuseMissingKey(info, offline);
  const baseUrl = credentials?.baseUrl?.trim().replace(/\/+$/, '') || info.defaultBaseUrl;
  if (baseUrl === undefined) throw refuseMissingKey(info, offline);
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

/** The options of `createOpenAI`. */
export function openAiOptions({ apiKey, baseUrl: baseURL, fetch, workspaceId }: Endpoint) {
  return { apiKey, baseURL, fetch, ...(workspaceId === undefined ? {} : { project: workspaceId }) };
}

/** The options of `createAmazonBedrock`, and what no message may show. Throws `bedrock_unconfigured`. */
export function bedrockOptions(credentials: ModelCredentials | undefined, fetch: Fetch) {
  const baseUrl = credentials?.baseUrl?.trim().replace(/\/+$/, '') || undefined;
  const read = readBedrockCredentials(credentials?.apiKey ?? '', baseUrl);
  const options = {
    region: read.region,
    baseURL: baseUrl ?? `https://bedrock-runtime.${read.region}.${awsDomain(read.region)}`,
    fetch,
    // The empty key keeps the package from taking a bearer token of the machine in place of the tenant's signature.
    apiKey: read.apiKey ?? '',
    ...(read.accessKeyId === undefined ? {} : { accessKeyId: read.accessKeyId }),
    ...(read.secretAccessKey === undefined ? {} : { secretAccessKey: read.secretAccessKey }),
    ...(read.sessionToken === undefined ? {} : { sessionToken: read.sessionToken }),
  };
  return { options, secrets: listSecrets(read) };
}

function awsDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

function listSecrets(read: BedrockCredentials): string[] {
  const secrets = [read.apiKey, read.secretAccessKey, read.sessionToken, read.accessKeyId];
  return secrets.filter((secret) => secret !== undefined);
}

function refuseMissingKey(info: ProviderInfo, offline: string): ApiError {
  const members = info.baseUrlRequired ? 'api_key and base_url' : 'api_key';
  return new ApiError('model_key_missing', {
    message:
      `No key is stored for the model provider ${info.provider}. Store its ${members} with ` +
      `PUT /v1/tenant/model_keys/${info.provider}, or use ${offline}, which needs none.`,
    param: 'model',
  });
}
