import { type Vault, VaultError } from '../../kernel/vault/vault.ts';
import type { McpEndpoint } from './client/connection.ts';
import { McpFailure } from './client/failure.ts';
import { mcpSecretContext } from './secret-context.ts';
import type { RegisteredServer } from './server-store.ts';

/**
 * Where the server is called, and with what of ours: a user's token, or the registration's secret. Throws McpFailure where
 * that cannot be opened any more.
 */
export function openEndpoint(
  vault: Pick<Vault, 'open'>,
  projectId: string,
  server: RegisteredServer,
  token?: string,
): McpEndpoint {
  const { id, url, protocol, sealed_secret: sealed } = server;
  if (token !== undefined) return { url, protocol, headers: { authorization: `Bearer ${token}` } };
  const secret = sealed === null ? undefined : openSecret(vault, sealed, mcpSecretContext(projectId, id));
  return { url, protocol, headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` } };
}

function openSecret(vault: Pick<Vault, 'open'>, sealed: string, context: string): string {
  try {
    return vault.open(sealed, context);
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const message = 'the secret of the registration can no longer be read; register the server again with it';
    throw new McpFailure('auth', message, { cause: error });
  }
}
