import { ApiError } from '../../kernel/http/errors.ts';

/**
 * The model providers that a turn can run on, as a table. A row says how a tenant configures the provider; how the
 * provider is spoken to is in `open-model.ts`.
 */

/** `native`: a package of its own. `compatible`: the OpenAI chat-completions dialect at `defaultBaseUrl` or the tenant's. */
type Dialect = 'builtin' | 'native' | 'compatible';

export interface ProviderInfo {
  /** The part of a model id before the first slash. */
  readonly provider: string;
  readonly displayName: string;
  /** Whether a turn is refused with `model_key_missing` while no key is stored. */
  readonly needsKey: boolean;
  readonly supportsWorkspaceId: boolean;
  /** No address is conventional, so that a key without `base_url` is of no use. */
  readonly baseUrlRequired: boolean;
  readonly defaultBaseUrl?: string;
}

interface ProviderRow extends ProviderInfo {
  readonly dialect: Dialect;
  /** The provider's id in the price data; absent where there is no list price (self-hosted). */
  readonly priceProvider?: string;
}

const hosted = { needsKey: true, supportsWorkspaceId: false, baseUrlRequired: false } as const;
const local = { needsKey: false, supportsWorkspaceId: false, baseUrlRequired: false } as const;

const ROWS: readonly ProviderRow[] = [
  { provider: 'builtin', displayName: 'Built-in', dialect: 'builtin', ...local },
  {
    ...hosted,
    provider: 'openai',
    displayName: 'OpenAI',
    dialect: 'native',
    // Sent as the OpenAI-Project header.
    supportsWorkspaceId: true,
    defaultBaseUrl: 'https://api.openai.com/v1',
    priceProvider: 'openai',
  },
  {
    ...hosted,
    provider: 'anthropic',
    displayName: 'Anthropic',
    dialect: 'native',
    defaultBaseUrl: 'https://api.anthropic.com/v1',
    priceProvider: 'anthropic',
  },
  {
    ...hosted,
    provider: 'google',
    displayName: 'Google Gemini',
    dialect: 'native',
    defaultBaseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    priceProvider: 'google',
  },
  // The address follows from the region of the credentials, so that no default is shown.
  { ...hosted, provider: 'bedrock', displayName: 'Amazon Bedrock', dialect: 'native', priceProvider: 'aws' },
  {
    ...hosted,
    provider: 'mistral',
    displayName: 'Mistral',
    dialect: 'native',
    defaultBaseUrl: 'https://api.mistral.ai/v1',
    priceProvider: 'mistral',
  },
  {
    ...hosted,
    provider: 'xai',
    displayName: 'xAI',
    dialect: 'native',
    defaultBaseUrl: 'https://api.x.ai/v1',
    priceProvider: 'x-ai',
  },
  {
    ...hosted,
    provider: 'groq',
    displayName: 'Groq',
    dialect: 'compatible',
    defaultBaseUrl: 'https://api.groq.com/openai/v1',
    priceProvider: 'groq',
  },
  {
    ...hosted,
    provider: 'openrouter',
    displayName: 'OpenRouter',
    dialect: 'compatible',
    defaultBaseUrl: 'https://openrouter.ai/api/v1',
    priceProvider: 'openrouter',
  },
  {
    ...hosted,
    provider: 'deepseek',
    displayName: 'DeepSeek',
    dialect: 'compatible',
    defaultBaseUrl: 'https://api.deepseek.com/v1',
    priceProvider: 'deepseek',
  },
  {
    ...hosted,
    provider: 'together',
    displayName: 'Together AI',
    dialect: 'compatible',
    defaultBaseUrl: 'https://api.together.xyz/v1',
    priceProvider: 'together',
  },
  {
    ...local,
    provider: 'ollama',
    displayName: 'Ollama',
    dialect: 'compatible',
    defaultBaseUrl: 'http://127.0.0.1:11434/v1',
  },
  {
    ...local,
    provider: 'vllm',
    displayName: 'vLLM',
    dialect: 'compatible',
    defaultBaseUrl: 'http://127.0.0.1:8000/v1',
  },
  {
    ...local,
    provider: 'llamacpp',
    displayName: 'llama.cpp',
    dialect: 'compatible',
    defaultBaseUrl: 'http://127.0.0.1:8080/v1',
  },
  {
    ...hosted,
    provider: 'openai-compatible',
    displayName: 'OpenAI-compatible server',
    dialect: 'compatible',
    baseUrlRequired: true,
  },
];

const rowByProvider: ReadonlyMap<string, ProviderRow> = new Map(ROWS.map((row) => [row.provider, row]));

/** Every provider, in the order in which a person would look for them. */
export function listProviders(): readonly ProviderInfo[] {
  return ROWS;
}

export function isKnownProvider(provider: string): boolean {
  return rowByProvider.has(provider);
}

/** Throws `unknown_provider` (naming the known ones) for a provider that is not run here. */
export function providerInfo(provider: string): ProviderInfo {
  return getProvider(provider);
}

/** As `providerInfo`, with the members that only this folder needs. */
export function getProvider(provider: string): ProviderRow {
  const row = rowByProvider.get(provider);
  if (row === undefined) {
    const known = ROWS.map((each) => each.provider).join(', ');
    throw new ApiError('unknown_provider', {
      message: `There is no model provider "${provider.slice(0, 64)}". Use one of: ${known}.`,
      param: 'provider',
    });
  }
  return row;
}
