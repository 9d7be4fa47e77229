/** The keys that tenants and smiths stored for model providers, and which of them a call is made with. */
import type { Outbound, OutboundPolicy } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import { ANSWER_BYTES_MAX } from './answer-limits.ts';
import type { ModelCredentials, WaysOut } from './endpoint.ts';

export interface StoredModelKey {
  /** Empty for the tenant's. */
  readonly smith_id: string;
  readonly provider: string;
  readonly sealed_api_key: string;
  readonly base_url: string | null;
  readonly workspace_id: string | null;
}

/** Every stored key that a smith may use, its own before the tenant's. An empty `smithId` finds the tenant's alone. */
export async function loadModelKeys(db: TenantDb, smithId: string): Promise<StoredModelKey[]> {
  const { rows } = await db.raw<StoredModelKey>({
    text: `
      select smith_id, provider, sealed_api_key, base_url, workspace_id from model_keys
      where project_id = $1 and smith_id in ('', $2) order by smith_id desc`,
    values: [smithId],
  });
  return rows;
}

/** Where a model key is sealed to: its project, owner and provider. */
export function modelKeyContext(projectId: string, smithId: string, provider: string): string {
  return `model_keys/${projectId}/${smithId}/${provider}`;
}

/** The key that a provider is called with: the first that is its own. */
export function findModelKey(keys: readonly StoredModelKey[], provider: string): StoredModelKey | undefined {
  return keys.find((key) => key.provider === provider);
}

/** With what, and how, a provider is called for a project. */
export interface ProviderAccess {
  /** Absent where no key is stored. */
  readonly credentials: ModelCredentials | undefined;
  readonly waysOut: WaysOut;
}

export type ProviderAccessFinder = (
  projectId: string,
  provider: string,
  keys: readonly StoredModelKey[],
) => ProviderAccess;

/**
 * Calls of models have limits of their own, and a whole answer sends nothing before its end. No provider redirects; what
 * does would choose another address than the one that was checked when the key was stored.
 */
const TIMEOUTS = { headersTimeoutMs: 0, bodyTimeoutMs: 0 };

/**
 * Unseals the first of the keys that is the provider's. With `allowPrivate` a tenant's base URL may be a private address;
 * a smith's own key comes from an end user, whose address must be public or one of the operator's list.
 */
export function createProviderAccessFinder(
  vault: Vault,
  outbound: Outbound,
  allowPrivate: boolean,
): ProviderAccessFinder {
  const openWays = (policy: OutboundPolicy): WaysOut => ({
    fetch: outbound.fetch(policy, { ...TIMEOUTS, maxRedirects: 0, maxBytes: ANSWER_BYTES_MAX }),
    post: outbound.post(policy, TIMEOUTS),
  });
  const ways = { public: openWays('public'), private: openWays('private') };
  return (projectId, provider, keys) => {
    const key = findModelKey(keys, provider);
    // Without a key a provider's usual address is called, which for Ollama and its like is this machine: whoever may
    // name a model, end users too, would reach a local port that nobody opened.
    if (key === undefined) return { credentials: undefined, waysOut: ways.public };
    const policy = key.smith_id === '' && allowPrivate ? 'private' : 'public';
    const credentials = {
      apiKey: vault.open(key.sealed_api_key, modelKeyContext(projectId, key.smith_id, provider)),
      ...(key.base_url === null ? {} : { baseUrl: key.base_url }),
      ...(key.workspace_id === null ? {} : { workspaceId: key.workspace_id }),
    };
    return { credentials, waysOut: ways[policy] };
  };
}
