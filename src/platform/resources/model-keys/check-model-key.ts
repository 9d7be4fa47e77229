/** What a model key must be to be of use to a turn, checked when it is saved rather than when a user waits for an answer. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { type Outbound, OutboundError, type OutboundPolicy } from '../../../kernel/outbound/outbound.ts';
import { readBedrockCredentials } from '../../models/bedrock-credentials.ts';
import { type ProviderInfo, providerInfo } from '../../models/index.ts';
import type { ModelKeyIn } from './schema.ts';

export interface CheckedModelKey {
  readonly apiKey: string;
  readonly baseUrl: string | null;
  readonly workspaceId: string | null;
}

/**
 * Resolves the host of `base_url`, so this may take as long as a name server: call it outside of any transaction.
 * Throws `unknown_provider`, `unsupported` (the built-in provider), `empty_key`, `workspace_id_unsupported`,
 * `url_required`, `invalid_url`, `bedrock_unconfigured`, and `invalid_request` for a key that no header can carry.
 */
export async function checkModelKey(
  provider: string,
  body: ModelKeyIn,
  addresses: { readonly outbound: Pick<Outbound, 'checkUrl'>; readonly policy: OutboundPolicy },
): Promise<CheckedModelKey> {
  const info = providerInfo(provider);
  if (provider === 'builtin') {
    throw new ApiError('unsupported', {
      param: 'provider',
      message: 'The built-in model runs without a key and takes none. Use it as builtin/demo.',
    });
  }
  // Pasted keys tend to bring a line break along.
  const apiKey = body.api_key.trim();
  if (apiKey === '') throw new ApiError('empty_key', { param: 'api_key' });
  const workspaceId = body.workspace_id ?? null;
  if (workspaceId !== null && !info.supportsWorkspaceId) {
    throw new ApiError('workspace_id_unsupported', {
      param: 'workspace_id',
      message: `${info.displayName} has no workspaces. Leave \`workspace_id\` out.`,
    });
  }
  const baseUrl = await checkBaseUrl(info, body.base_url ?? null, addresses);
  checkCharacters(
    provider === 'bedrock' ? Object.values(readBedrockCredentials(apiKey, baseUrl ?? undefined)) : [apiKey],
  );
  return { apiKey, baseUrl, workspaceId };
}

async function checkBaseUrl(
  info: ProviderInfo,
  text: string | null,
  { outbound, policy }: { readonly outbound: Pick<Outbound, 'checkUrl'>; readonly policy: OutboundPolicy },
): Promise<string | null> {
  if (text === null) {
    if (!info.baseUrlRequired) return null;
    throw new ApiError('url_required', {
      param: 'base_url',
      message: `${info.displayName} has no usual address. Send the server's in \`base_url\`.`,
    });
  }
  const url = await outbound.checkUrl(text, { policy }).catch((error: unknown) => {
    throw error instanceof OutboundError ? refuseUrl(error.message) : error;
  });
  // Paths are appended to it.
  if (url.search !== '' || url.hash !== '') throw refuseUrl('it has a query or a fragment; end it with the path');
  return url.href.replace(/\/+$/, '');
}

function refuseUrl(why: string): ApiError {
  return new ApiError('invalid_url', { param: 'base_url', message: `\`base_url\` is refused: ${why}.` });
}

function checkCharacters(secrets: readonly string[]): void {
  if (secrets.every((secret) => /^[\x20-\x7e]*$/.test(secret))) return;
  throw new ApiError('invalid_request', {
    param: 'api_key',
    message: '`api_key` holds characters that no key has. Copy it again; it is plain letters, digits and signs.',
  });
}
